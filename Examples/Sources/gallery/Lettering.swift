import LarkspurImages

#if !canImport(CoreGraphics)
    /// A font of five by seven dots: capitals and digits.
    enum Lettering {
        private static let bands = [
            (
                "ABCDEFGHIJKL",
                """
                 ###  ####   #### ####  ##### #####  #### #   #  ###     ## #   # #
                #   # #   # #     #   # #     #     #     #   #   #       # #  #  #
                #   # #   # #     #   # #     #     #     #   #   #       # # #   #
                ##### ####  #     #   # ####  ####  #  ## #####   #       # ##    #
                #   # #   # #     #   # #     #     #   # #   #   #       # # #   #
                #   # #   # #     #   # #     #     #   # #   #   #   #   # #  #  #
                #   # ####   #### ####  ##### #      #### #   #  ###   ###  #   # #####
                """
            ),
            (
                "MNOPQRSTUVWX",
                """
                #   # #   #  ###  ####   ###  ####   #### ##### #   # #   # #   # #   #
                ## ## #   # #   # #   # #   # #   # #       #   #   # #   # #   # #   #
                # # # ##  # #   # #   # #   # #   # #       #   #   # #   # #   #  # #
                # # # # # # #   # ####  #   # ####   ###    #   #   # #   # # # #   #
                #   # #  ## #   # #     # # # # #       #   #   #   #  # #  # # #  # #
                #   # #   # #   # #     #  #  #  #      #   #   #   #  # #  ## ## #   #
                #   # #   #  ###  #      ## # #   # ####    #    ###    #   #   # #   #
                """
            ),
            (
                "YZ0123456789",
                """
                #   # #####  ###    #    ###  #####    #  #####   ##  #####  ###   ###
                #   #     # #   #  ##   #   #    #    ##  #      #        # #   # #   #
                 # #     #  #  ##   #       #   #    # #  ####  #        #  #   # #   #
                  #     #   # # #   #      #     #  #  #      # ####    #    ###   ####
                  #    #    ##  #   #     #       # #####     # #   #   #   #   #     #
                  #   #     #   #   #    #    #   #    #  #   # #   #   #   #   #    #
                  #   #####  ###   ###  #####  ###     #   ###   ###    #    ###   ##
                """
            ),
        ]

        private static let glyphs: [Character: [[Bool]]] = {
            var glyphs: [Character: [[Bool]]] = [:]
            for (letters, text) in bands {
                let lines = text.split(separator: "\n").map { Array($0) }
                for (index, letter) in letters.enumerated() {
                    glyphs[letter] = lines.map { line in
                        (index * 6..<index * 6 + 5).map { $0 < line.count && line[$0] == "#" }
                    }
                }
            }
            return glyphs
        }()

        static func width(of text: String, scale: Int = 1) -> Int { (text.count * 6 - 1) * scale }

        /// Draws a line of text. Characters that are not in the font are spaces.
        static func draw(
            _ text: String, on sheet: inout PixelBuffer, x: Int, y: Int, scale: Int = 1,
            color: (UInt8, UInt8, UInt8, UInt8)
        ) {
            let dot = PixelBuffer(size: PixelSize(width: scale, height: scale), color: color)
            for (index, letter) in text.uppercased().enumerated() {
                for (row, dots) in (glyphs[letter] ?? []).enumerated() {
                    for (column, isSet) in dots.enumerated() where isSet {
                        sheet.draw(dot, x: x + (index * 6 + column) * scale, y: y + row * scale)
                    }
                }
            }
        }
    }
#endif
