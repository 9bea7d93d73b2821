/// The files of transfers that the system performs. The system's callbacks call these functions.
extension BackgroundFolder {
    func hasRecord(of id: UUID) -> Bool { access(path(.record, of: id), F_OK) == 0 }

    /// Moves a file that the system has downloaded into the folder. The head is written first: if the app is killed
    /// meanwhile, a file without a head is not believed.
    func keep(_ location: URL, of id: UUID, _ head: ResponseHead) throws(RequestError) {
        try write(head, of: id)
        let place = path(.body, of: id)
        unlink(place)
        do { try FileManager.default.moveItem(at: location, to: URL(fileURLWithPath: place)) } catch {
            throw RequestError(
                .fileUnwritable, "the downloaded file cannot be moved to \(place): \(error)", underlying: error)
        }
    }

    /// The data from which the system resumes a download; nil if it starts from the beginning.
    func resumption(of id: UUID) -> Data? { try? Data(of: URL(fileURLWithPath: path(.resumption, of: id))) }

    /// Stores the data from which the system resumes a download. Nil removes earlier data, which the system could not
    /// use.
    func keep(resumption data: Data?, of id: UUID) {
        guard let data, (try? replace(.resumption, of: id, by: data)) != nil else {
            unlink(path(.resumption, of: id))
            return
        }
    }
}
