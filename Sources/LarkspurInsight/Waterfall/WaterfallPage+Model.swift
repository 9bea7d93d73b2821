extension WaterfallPage {
    /// Reads the data, and selects and orders rows.
    static let model = #"""
        const element = id => document.getElementById(id);
        const head = JSON.parse(element("head").textContent);
        const rows = JSON.parse(element("rows").textContent);
        let detailLines = null;
        const phaseNames = ["Queue", "Lookup", "Connect", "TLS", "Send", "Wait", "Receive"];
        const kindNames = { redirect: "Redirects", retry: "Retries", cache: "Cache", error: "Errors",
          websocket: "WebSockets", pending: "In flight" };

        // Characters that are invisible or change the direction of text are shown as a replacement.
        const clean = text => String(text).replace(
          /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g, "\ufffd");

        // Every text reaches the page through this function, as text.
        function make(tag, className, text) {
          const node = document.createElement(tag);
          if (className) node.className = className;
          if (text !== undefined) node.textContent = clean(text);
          return node;
        }

        function duration(ms) {
          if (ms < 0.9995) return (ms * 1000).toFixed(0) + " \u00b5s";
          if (ms < 9.995) return ms.toFixed(2) + " ms";
          if (ms < 999.5) return ms.toFixed(ms < 99.95 ? 1 : 0) + " ms";
          if (ms < 59995) return (ms / 1000).toFixed(2) + " s";
          if (ms < 3599500) return Math.floor(ms / 60000) + " min " + Math.round(ms % 60000 / 1000) + " s";
          return (ms / 3600000).toFixed(1) + " h";
        }

        function bytes(count) {
          if (count < 1000) return count + " B";
          if (count < 999500) return (count / 1000).toFixed(count < 9950 ? 1 : 0) + " kB";
          if (count < 999.5e6) return (count / 1e6).toFixed(1) + " MB";
          return (count / 1e9).toFixed(2) + " GB";
        }

        function prepare(row, index) {
          row.index = index;
          const parts = /^[a-z][a-z0-9+.-]*:\/\/(?:[^\/?#@]*@)?([^\/?#]*)([^]*)$/i.exec(row.url);
          row.host = parts ? parts[1].toLowerCase() : "";
          row.path = parts ? parts[2] || "/" : row.url;
          row.sum = row.phases.reduce((sum, phase) => sum + Math.max(0, phase), 0);
          row.length = Math.max(row.time, row.sum);
          row.end = row.start + row.length;
          row.kinds = [];
          const redirect = row.status >= 300 && row.status < 400 && row.redirect;
          if (redirect) row.kinds.push("redirect");
          if (row.attempt > 1) row.kinds.push("retry");
          if (row.status === 304 || row.cache && !/^(miss|bypass|none)/i.test(row.cache)) row.kinds.push("cache");
          if (!row.pending && (row.error || row.status === 0 || row.status >= 400)) row.kinds.push("error");
          if (row.messages || row.status === 101 || /^wss?:/i.test(row.url)) row.kinds.push("websocket");
          if (row.pending) row.kinds.push("pending");
          row.statusClass = row.status ? Math.floor(row.status / 100) + "xx" : row.pending ? "In flight" : "No response";
          row.search = [row.method, row.url, row.status, row.error || "", row.type, row.cache || ""].join(" ").toLowerCase();
        }
        rows.forEach(prepare);

        // The rows of each request, in the order of their start.
        const requests = new Map();
        for (const row of rows) {
          if (!requests.has(row.request)) requests.set(row.request, []);
          requests.get(row.request).push(row);
        }
        const kin = row => requests.get(row.request);

        const whole = rows.reduce((span, row) => [Math.min(span[0], row.start), Math.max(span[1], row.end)], [0, 1]);
        const state = { text: "", host: "", status: "", kind: "", together: true, column: "start", descending: false,
          view: whole.slice(), shown: [], selected: -1 };

        const columns = [
          { key: "url", title: "Request", value: row => row.path },
          { key: "status", title: "Status", value: row => row.status },
          { key: "size", title: "Size", value: row => row.size || 0 },
          { key: "time", title: "Time", value: row => row.length },
          { key: "start", title: "Start", value: row => row.start },
        ];

        function select() {
          const words = state.text.toLowerCase().split(/\s+/).filter(Boolean);
          const shown = rows.filter(row =>
            (!state.host || row.host === state.host) &&
            (!state.status || row.statusClass === state.status) &&
            (!state.kind || row.kinds.includes(state.kind)) &&
            words.every(word => row.search.includes(word)));
          const value = columns.find(column => column.key === state.column).value;
          const sign = state.descending ? -1 : 1;
          const compare = (a, b) => a < b ? -sign : a > b ? sign : 0;
          if (state.together) {
            const first = new Map();
            for (const row of shown) {
              const old = first.get(row.request);
              if (old === undefined || compare(value(row), old) < 0) first.set(row.request, value(row));
            }
            shown.sort((a, b) => compare(first.get(a.request), first.get(b.request)) || a.request - b.request ||
              a.start - b.start || a.index - b.index);
          } else {
            shown.sort((a, b) => compare(value(a), value(b)) || a.index - b.index);
          }
          state.shown = shown;
          shown.forEach((row, place) => { row.place = place; });
        }

        function detailOf(row) {
          if (!detailLines) detailLines = element("details").textContent.split("\n");
          return JSON.parse(detailLines[row.index]);
        }

        """#
}
