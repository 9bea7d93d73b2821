extension WaterfallPage {
    static let style = #"""
        :root {
          color-scheme: light dark;
          --row: 28px;
          --name: 42%;
          --paper: light-dark(#ffffff, #16181d);
          --raised: light-dark(#f5f6f8, #1e2128);
          --line: light-dark(#dfe2e8, #31353f);
          --ink: light-dark(#1b1f27, #e7e9ee);
          --soft: light-dark(#5a6270, #a2a9b6);
          --accent: light-dark(#1a5fd0, #7db0ff);
          --chosen: light-dark(#dce9ff, #24375a);
          --kin: light-dark(#f0f5ff, #1c2638);
          --bad: light-dark(#b3261e, #ff8a80);
          --warn: light-dark(#8a5300, #f3b75b);
          --good: light-dark(#1d6b38, #7fd49b);
          --p0: light-dark(#a9b0bc, #767d8a);
          --p1: light-dark(#00897b, #3dc0b0);
          --p2: light-dark(#e07b00, #f5a33c);
          --p3: light-dark(#9334c6, #c583ee);
          --p4: light-dark(#d6316f, #f4729f);
          --p5: light-dark(#4caf6a, #63c281);
          --p6: light-dark(#2f7de1, #5aa0f7);
        }
        :root[data-theme="light"] { color-scheme: light; }
        :root[data-theme="dark"] { color-scheme: dark; }
        * { box-sizing: border-box; }
        [hidden] { display: none !important; }
        html, body { height: 100%; margin: 0; }
        body { display: flex; flex-direction: column; background: var(--paper); color: var(--ink);
          font: 13px/1.4 system-ui, -apple-system, "Segoe UI", "Noto Sans", "DejaVu Sans", sans-serif; }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: -2px; }
        header { display: flex; align-items: center; gap: 12px; padding: 10px 14px 4px; }
        h1 { flex: 1; margin: 0; font-size: 16px; font-weight: 600; overflow: hidden; text-overflow: ellipsis;
          white-space: nowrap; unicode-bidi: isolate; }
        button, select, input[type="search"] { font: inherit; color: inherit; background: var(--raised);
          border: 1px solid var(--line); border-radius: 5px; padding: 3px 8px; min-height: 28px; }
        button { cursor: pointer; }
        button:hover { border-color: var(--soft); }
        #filters { display: flex; flex-wrap: wrap; gap: 6px; align-items: center; padding: 6px 14px 8px; margin: 0; }
        #filters input[type="search"] { flex: 1 1 220px; min-width: 0; }
        #filters select { max-width: 200px; }
        #filters label { display: inline-flex; align-items: center; gap: 4px; }
        .zoom { display: inline-flex; gap: 4px; }
        #overview { position: relative; height: 34px; margin: 0 14px; border: 1px solid var(--line); border-radius: 4px;
          overflow: hidden; cursor: crosshair; touch-action: none; background: var(--raised); }
        #overview i { position: absolute; bottom: 0; background: var(--p6); opacity: .65; }
        #overview i.bad { background: var(--bad); opacity: 1; z-index: 1; }
        #brush { position: absolute; top: 0; bottom: 0; border: solid var(--accent); border-width: 0 2px;
          background: color-mix(in srgb, var(--accent) 14%, transparent); }
        #legend { display: flex; flex-wrap: wrap; gap: 2px 14px; margin: 0; padding: 6px 14px; list-style: none;
          color: var(--soft); font-size: 12px; }
        #legend i, .phase i { display: inline-block; width: 10px; height: 10px; border-radius: 2px; margin-right: 5px; }
        main { flex: 1; min-height: 0; display: flex; border-top: 1px solid var(--line); }
        #table { flex: 1; min-width: 0; display: flex; flex-direction: column; position: relative; }
        #columns, .row { display: grid; align-items: center;
          grid-template-columns: minmax(160px, var(--name)) 62px 72px 80px minmax(120px, 1fr); }
        #columns { background: var(--raised); border-bottom: 1px solid var(--line); height: 30px; }
        #columns button { border: 0; background: none; border-radius: 0; text-align: left; font-weight: 600; padding: 0 8px;
          height: 29px; overflow: hidden; white-space: nowrap; }
        #columns button.number { text-align: right; }
        #axis { position: relative; height: 100%; overflow: hidden; cursor: ew-resize; touch-action: none; }
        #axis span { position: absolute; top: 6px; padding-left: 4px; font-size: 11px; color: var(--soft); white-space: nowrap;
          border-left: 1px solid var(--line); height: 30px; }
        #grid { flex: 1; overflow-y: scroll; overflow-x: hidden; position: relative; min-height: 0; }
        #columns { padding-right: var(--bar, 0); }
        #rowspace { position: relative; overflow: hidden; }
        .row { position: absolute; left: 0; right: 0; top: 0; height: var(--row); border-bottom: 1px solid var(--line);
          cursor: default; }
        .row:hover { background: var(--raised); }
        .row.kin { background: var(--kin); }
        .row[aria-selected="true"] { background: var(--chosen); }
        #grid:focus .row[aria-selected="true"] { box-shadow: inset 3px 0 var(--accent); }
        .cell { padding: 0 8px; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; min-width: 0; }
        .number { text-align: right; font-variant-numeric: tabular-nums; }
        .name { position: relative; padding-left: 24px; display: flex; gap: 6px; height: 100%; align-items: center; }
        .name .path { overflow: hidden; text-overflow: ellipsis; unicode-bidi: isolate; min-width: 3em; flex: 0 1 auto; }
        .name .site { color: var(--soft); overflow: hidden; text-overflow: ellipsis; unicode-bidi: isolate; flex: 0 9 auto; }
        .method { color: var(--soft); font-size: 11px; font-weight: 600; flex: none; max-width: 7em; overflow: hidden; }
        .tag { flex: none; font-size: 10.5px; line-height: 15px; padding: 0 5px; border-radius: 8px; border: 1px solid var(--line);
          color: var(--soft); background: var(--paper); }
        .tag.error { color: var(--bad); border-color: currentColor; }
        .tag.retry, .tag.pending { color: var(--warn); border-color: currentColor; }
        .tag.cache { color: var(--good); border-color: currentColor; }
        .rail::before { content: ""; position: absolute; left: 12px; top: 0; bottom: -1px; border-left: 2px solid var(--accent); }
        .rail::after { content: ""; position: absolute; left: 12px; width: 8px; top: 50%; border-top: 2px solid var(--accent); }
        .rail.first::before { top: 50%; }
        .rail.last::before { bottom: 50%; }
        .s4, .s5, .s0 { color: var(--bad); }
        .s3 { color: var(--soft); }
        .s2 { color: var(--good); }
        .wait { color: var(--warn); }
        .lane { position: relative; height: 100%; overflow: hidden; border-left: 1px solid var(--line); }
        .lane i { position: absolute; top: 7px; bottom: 7px; min-width: 1px; }
        .lane .whole { top: 50%; bottom: auto; height: 2px; margin-top: -1px; min-width: 2px; background: var(--soft); opacity: .55; }
        .lane .end { top: 4px; bottom: 4px; width: 2px; background: var(--bad); }
        .lane .open { background: repeating-linear-gradient(45deg, var(--warn) 0 4px, transparent 4px 8px); }
        .p0 { background: var(--p0); } .p1 { background: var(--p1); } .p2 { background: var(--p2); } .p3 { background: var(--p3); }
        .p4 { background: var(--p4); } .p5 { background: var(--p5); } .p6 { background: var(--p6); }
        #empty { position: absolute; inset: 80px 0 auto; text-align: center; color: var(--soft); margin: 0; }
        #detail { flex: 0 0 min(440px, 42%); border-left: 1px solid var(--line); overflow: auto; padding: 10px 14px 24px;
          background: var(--paper); }
        #detail h2 { font-size: 14px; margin: 0; overflow-wrap: anywhere; unicode-bidi: isolate; flex: 1; }
        #detail h3 { font-size: 12px; margin: 16px 0 4px; color: var(--soft); text-transform: uppercase; letter-spacing: .04em; }
        #detail .top { display: flex; gap: 8px; align-items: start; }
        #detail dl { display: grid; grid-template-columns: minmax(90px, max-content) 1fr; gap: 2px 10px; margin: 0; }
        #detail dt { color: var(--soft); overflow-wrap: anywhere; max-width: 190px; }
        #detail dd { margin: 0; overflow-wrap: anywhere; unicode-bidi: isolate; min-width: 0; }
        #detail pre { margin: 4px 0; padding: 8px; max-height: 320px; overflow: auto; background: var(--raised);
          border: 1px solid var(--line); border-radius: 5px; white-space: pre-wrap; overflow-wrap: anywhere;
          font: 12px/1.45 ui-monospace, "DejaVu Sans Mono", monospace; unicode-bidi: plaintext; }
        .phase { display: grid; grid-template-columns: 90px 1fr 84px; gap: 8px; align-items: center; }
        .phase .track { position: relative; height: 8px; background: var(--raised); border-radius: 2px; overflow: hidden; }
        .phase .track i { position: absolute; top: 0; height: 8px; border-radius: 0; min-width: 1px; margin: 0; }
        .note { color: var(--soft); font-size: 12px; margin: 4px 0; }
        .problem { color: var(--bad); overflow-wrap: anywhere; margin: 8px 0 0; }
        .hops { display: flex; flex-direction: column; gap: 3px; }
        .hops button { text-align: left; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
        .hops button[aria-current] { border-color: var(--accent); background: var(--chosen); }
        footer { display: flex; flex-wrap: wrap; gap: 2px 18px; padding: 6px 14px; border-top: 1px solid var(--line);
          background: var(--raised); font-variant-numeric: tabular-nums; }
        #notes { color: var(--soft); }
        #tip { position: fixed; z-index: 9; pointer-events: none; max-width: min(380px, 90vw); padding: 8px 10px; border-radius: 6px;
          background: var(--paper); border: 1px solid var(--line); box-shadow: 0 4px 18px rgb(0 0 0 / .25); font-size: 12px; }
        #tip b { display: block; margin-bottom: 4px; overflow-wrap: anywhere; unicode-bidi: isolate; font-weight: 600; }
        noscript { padding: 20px; }
        @media (max-width: 760px) {
          :root { --row: 48px; }
          header, #filters, #legend, footer { padding-left: 10px; padding-right: 10px; }
          #overview { margin: 0 10px; }
          #filters select { flex: 1 1 28%; min-width: 0; }
          #columns, .row { grid-template-columns: 1fr 62px 76px; grid-template-rows: 26px 1fr; }
          #columns { height: 52px; grid-template-rows: 28px 24px; }
          #columns button { height: 27px; }
          #axis span { top: 2px; }
          .size, #columns .size { display: none; }
          .lane, #axis { grid-column: 1 / -1; border-left: 0; }
          .lane i { top: 3px; bottom: 6px; }
          .cell { padding: 0 6px; }
          .name { padding-left: 22px; }
          main { position: relative; }
          #detail { position: absolute; inset: 0; border-left: 0; z-index: 2; }
          #legend { gap: 0 10px; }
        }
        @media (prefers-reduced-motion: no-preference) { button { transition: border-color .12s; } }
        @media (forced-colors: active) { .lane i, .phase i, #legend i, #overview i { forced-color-adjust: none; } }
        @media print { #filters, #overview { display: none; } }
        """#
}
