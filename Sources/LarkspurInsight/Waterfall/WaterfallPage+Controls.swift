extension WaterfallPage {
    /// Connects the pointer, the keys and the filters.
    static let controls = #"""
        const lanes = () => element("axis").getBoundingClientRect();
        function redraw() {
          element("columns").style.setProperty("--bar", grid.offsetWidth - grid.clientWidth + "px");
          drawAxis();
          drawRows(true);
        }

        function choose(row, isOpen) {
          if (!state.shown.includes(row)) clearFilters();
          state.selected = row.index;
          const height = rowHeight(), top = row.place * height;
          if (top < grid.scrollTop) grid.scrollTop = top;
          else if (top + height > grid.scrollTop + grid.clientHeight) grid.scrollTop = top + height - grid.clientHeight;
          drawRows(false);
          if (isOpen || !panel.hidden) showDetail(row);
        }

        function clearFilters() {
          for (const key of ["text", "host", "status", "kind"]) { state[key] = ""; element(key).value = ""; }
          refresh();
        }

        function fill(id, values) {
          for (const [value, title] of values) {
            const option = make("option", "", title);
            option.value = value;
            element(id).append(option);
          }
        }

        function counted(values, title = value => value) {
          const counts = new Map();
          for (const value of values) counts.set(value, (counts.get(value) || 0) + 1);
          return [...counts].sort((a, b) => a[0] < b[0] ? -1 : 1).map(([value, count]) => [value, title(value) + " (" + count + ")"]);
        }

        function buildColumns() {
          const bar = element("columns");
          bar.setAttribute("role", "group");
          bar.setAttribute("aria-label", "Columns, to sort by");
          for (const column of columns.slice(0, 4)) {
            const button = make("button", column.key === "url" ? "" : "number " + column.key, column.title);
            button.type = "button";
            button.dataset.key = column.key;
            bar.append(button);
          }
          const axis = make("div");
          axis.id = "axis";
          axis.title = "Drag to zoom, double-click for the whole time";
          bar.append(axis);
          bar.addEventListener("click", event => {
            const key = event.target.dataset && event.target.dataset.key;
            if (key) sortBy(key);
          });
        }

        // A column sorts ascending, then descending, then the start of the requests counts again.
        function sortBy(key) {
          if (state.column !== key) [state.column, state.descending] = [key, false];
          else if (!state.descending) state.descending = true;
          else [state.column, state.descending] = ["start", false];
          for (const button of element("columns").querySelectorAll("button")) {
            const isSorted = button.dataset.key === state.column;
            const column = columns.find(column => column.key === button.dataset.key);
            button.textContent = column.title + (isSorted ? state.descending ? " \u25be" : " \u25b4" : "");
            button.setAttribute("aria-pressed", isSorted);
            button.setAttribute("aria-label", "Sort by " + column.title + (isSorted ? state.descending ? ", descending" : ", ascending" : ""));
          }
          refresh();
        }

        // A drag selects a span of time; `span` is the time that the element's width stands for.
        function dragToZoom(node, span) {
          let from = null;
          const time = event => {
            const box = node.getBoundingClientRect(), [start, end] = span();
            return start + Math.min(1, Math.max(0, (event.clientX - box.left) / box.width)) * (end - start);
          };
          node.addEventListener("pointerdown", event => { from = [event.clientX, time(event), span()]; node.setPointerCapture(event.pointerId); });
          node.addEventListener("pointerup", event => {
            if (from && Math.abs(event.clientX - from[0]) > 3) {
              const to = time(event);
              look(Math.min(from[1], to), Math.max(from[1], to));
            }
            from = null;
          });
          node.addEventListener("pointercancel", () => { from = null; });
          node.addEventListener("dblclick", () => look(...whole));
        }

        const themes = ["", "light", "dark"], themeNames = ["Theme: system", "Theme: light", "Theme: dark"];
        let theme = 0;
        function setTheme(number) {
          theme = number % 3;
          if (theme) document.documentElement.dataset.theme = themes[theme]; else delete document.documentElement.dataset.theme;
          element("theme").textContent = themeNames[theme];
        }

        function move(by) {
          if (!state.shown.length) return;
          const chosen = rows[state.selected];
          const place = chosen && state.shown[chosen.place] === chosen ? chosen.place + by : by > 0 ? 0 : state.shown.length - 1;
          choose(state.shown[Math.min(state.shown.length - 1, Math.max(0, place))], false);
        }

        function pan(part) {
          const [from, to] = state.view;
          look(from + (to - from) * part, to + (to - from) * part);
        }

        function onKey(event) {
          if (event.ctrlKey || event.metaKey || event.altKey) return;
          const isField = /^(INPUT|SELECT)$/.test(event.target.tagName);
          if (event.key === "Escape") {
            tip.hidden = true;
            if (isField) { clearFilters(); grid.focus(); } else if (!panel.hidden) hideDetail(); else clearFilters();
            return event.preventDefault();
          }
          if (isField) {
            if (event.key === "Enter" || event.key === "ArrowDown" && event.target.id === "text") { grid.focus(); move(0); event.preventDefault(); }
            return;
          }
          if (event.key === "/") { element("text").focus(); return event.preventDefault(); }
          const page = Math.max(1, Math.floor(grid.clientHeight / rowHeight()) - 1);
          const keys = { "+": () => zoom(0.5), "=": () => zoom(0.5), "-": () => zoom(2), "0": () => look(...whole) };
          if (event.target === grid || event.target === document.body) Object.assign(keys, {
            ArrowDown: () => move(1), ArrowUp: () => move(-1), PageDown: () => move(page), PageUp: () => move(-page),
            Home: () => move(-1e9), End: () => move(1e9), ArrowLeft: () => pan(-0.2), ArrowRight: () => pan(0.2),
            Enter: () => { if (rows[state.selected]) { showDetail(rows[state.selected]); panel.focus(); } },
          });
          if (!Object.hasOwn(keys, event.key)) return;
          keys[event.key]();
          event.preventDefault();
        }

        function rowAt(event) {
          const node = event.target.closest && event.target.closest(".row");
          return node ? node.row : null;
        }

        function listen() {
          for (const key of ["text", "host", "status", "kind"])
            element(key).addEventListener("input", () => { state[key] = element(key).value; grid.scrollTop = 0; refresh(); });
          element("filters").addEventListener("submit", event => event.preventDefault());
          element("together").addEventListener("change", event => { state.together = event.target.checked; refresh(); });
          element("closer").addEventListener("click", () => zoom(0.5));
          element("wider").addEventListener("click", () => zoom(2));
          element("all").addEventListener("click", () => look(...whole));
          element("theme").addEventListener("click", () => setTheme(theme + 1));
          grid.addEventListener("scroll", () => { tip.hidden = true; schedule(); }, { passive: true });
          grid.addEventListener("click", event => { const row = rowAt(event); if (row) choose(row, true); });
          grid.addEventListener("pointermove", event => {
            const row = event.pointerType === "mouse" && event.target.closest(".lane") && rowAt(event);
            if (row) showTip(row, event.clientX, event.clientY); else tip.hidden = true;
          });
          grid.addEventListener("pointerleave", () => { tip.hidden = true; });
          grid.addEventListener("wheel", event => {
            if (!event.ctrlKey && !event.metaKey && !event.shiftKey) return;
            event.preventDefault();
            const box = lanes(), at = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
            if (event.shiftKey) pan(Math.sign(event.deltaY || event.deltaX) * 0.1); else zoom(event.deltaY > 0 ? 1.25 : 0.8, at);
          }, { passive: false });
          dragToZoom(element("overview"), () => whole);
          dragToZoom(element("axis"), () => state.view);
          document.addEventListener("keydown", onKey);
          addEventListener("resize", redraw);
        }

        function begin() {
          document.title = clean(head.title);
          element("title").textContent = clean(head.title);
          phaseNames.forEach((name, index) => {
            const item = make("li");
            item.append(make("i", "p" + index), document.createTextNode(name));
            element("legend").append(item);
          });
          buildColumns();
          fill("host", counted(rows.map(row => row.host).filter(Boolean)));
          fill("status", counted(rows.map(row => row.statusClass)));
          fill("kind", counted(rows.flatMap(row => row.kinds), kind => kindNames[kind]));
          const notes = [];
          if (rows.length < head.total) notes.push("The page shows the first " + rows.length + " of " + head.total + " rows.");
          if (rows.length) notes.push("Bodies are cut to " + bytes(head.bodyLimit) + ".");
          element("notes").textContent = notes.join(" ");
          setTheme(0);
          listen();
          refresh();
          redraw();
          document.documentElement.dataset.ready = "true";
        }
        begin();
        """#
}
