extension WaterfallPage {
    /// Draws the rows that are visible, the axis, the overview and the totals.
    static let list = #"""
        const grid = element("grid"), space = element("rowspace"), tip = element("tip");
        let drawn = new Map();
        const rowHeight = () => parseFloat(getComputedStyle(document.documentElement).getPropertyValue("--row"));

        // Adds the bars of a row; positions are percentages of the visible time.
        function drawBars(lane, row, view) {
          const scale = 100 / (view[1] - view[0]);
          const piece = (className, from, to) => {
            if (to < view[0] || from > view[1]) return;
            const bar = make("i", className);
            const left = (Math.max(from, view[0]) - view[0]) * scale;
            bar.style.left = left + "%";
            bar.style.width = Math.max(0, (Math.min(to, view[1]) - view[0]) * scale - left) + "%";
            lane.append(bar);
          };
          piece(row.pending ? "open" : "whole", row.start, row.end);
          let time = row.start;
          row.phases.forEach((phase, index) => {
            if (phase <= 0) return;
            piece("p" + index, time, time + phase);
            time += phase;
          });
          if (row.kinds.includes("error") && (row.error || !row.status)) piece("end", row.end, row.end);
        }

        function tags(row) {
          const tags = [];
          if (row.attempt > 1) tags.push(["retry", "attempt " + row.attempt]);
          if (row.kinds.includes("redirect")) tags.push(["redirect", "redirect"]);
          if (row.kinds.includes("cache")) tags.push(["cache", row.cache || "not modified"]);
          if (row.kinds.includes("websocket")) tags.push(["websocket", row.messages ? row.messages + (row.messages === 1 ? " message" : " messages") : "WebSocket"]);
          if (row.pending) tags.push(["pending", "in flight"]);
          if (row.error) tags.push(["error", "failed"]);
          return tags;
        }

        const statusText = row => row.status ? String(row.status) : row.pending ? "\u2026" : "failed";
        const statusStyle = row => row.pending ? "wait" : row.status ? "s" + String(row.status)[0] : "s0";

        function drawRow(row) {
          const node = make("div", "row");
          node.id = "row" + row.index;
          node.setAttribute("role", "row");
          const cell = (className, text, title) => {
            const part = make("div", "cell " + className, text);
            part.setAttribute("role", "gridcell");
            if (title) part.setAttribute("aria-label", title + " " + clean(text));
            node.append(part);
            return part;
          };
          const name = cell("name");
          name.append(make("span", "method", row.method), make("span", "path", row.path), make("span", "site", row.host));
          for (const [kind, text] of tags(row)) name.append(make("span", "tag " + kind, text));
          cell("number " + statusStyle(row), statusText(row), "Status");
          cell("number size", row.size === undefined ? "\u2013" : bytes(row.size), "Size");
          cell("number", duration(row.length), "Time");
          const lane = make("div", "lane");
          lane.setAttribute("role", "gridcell");
          lane.setAttribute("aria-label", "starts at " + duration(row.start) + ", takes " + duration(row.length));
          drawBars(lane, row, state.view);
          node.append(lane);
          node.row = row;
          return node;
        }

        function drawRows(isNew) {
          const height = rowHeight(), margin = 8;
          const first = Math.max(0, Math.floor(grid.scrollTop / height) - margin);
          const last = Math.min(state.shown.length, Math.ceil((grid.scrollTop + grid.clientHeight) / height) + margin);
          if (isNew) {
            space.textContent = "";
            drawn = new Map();
            space.style.height = Math.max(1, state.shown.length * height) + "px";
          }
          const chosen = rows[state.selected];
          const next = new Map();
          for (let place = first; place < last; place++) {
            const row = state.shown[place];
            let node = drawn.get(row.index);
            if (!node) {
              node = drawRow(row);
              node.style.transform = "translateY(" + place * height + "px)";
              node.setAttribute("aria-rowindex", place + 1);
              const before = state.shown[place - 1], after = state.shown[place + 1];
              const up = before && before.request === row.request, down = after && after.request === row.request;
              if (up || down) node.firstChild.classList.add("rail", up ? down ? "middle" : "last" : "first");
              // The order in the document is that of the rows.
              const follower = [...drawn.values()].find(other => other.row.place > place && other.parentNode);
              space.insertBefore(node, follower || null);
            }
            node.setAttribute("aria-selected", row.index === state.selected);
            node.classList.toggle("kin", Boolean(chosen) && chosen !== row && chosen.request === row.request);
            next.set(row.index, node);
          }
          for (const [index, node] of drawn) if (!next.has(index)) node.remove();
          drawn = next;
          if (drawn.has(state.selected)) grid.setAttribute("aria-activedescendant", "row" + state.selected);
          else grid.removeAttribute("aria-activedescendant");
        }

        function drawAxis() {
          const axis = element("axis"), [from, to] = state.view;
          axis.textContent = "";
          const count = Math.max(2, Math.floor(axis.clientWidth / 90));
          const rough = (to - from) / count, power = 10 ** Math.floor(Math.log10(rough));
          const step = [1, 2, 5, 10].map(factor => factor * power).find(size => size >= rough) || rough;
          for (let tick = Math.ceil(from / step) * step, n = 0; tick < to && n < 100; tick += step, n++) {
            const mark = make("span", "", tick < step / 2 ? "0" : duration(tick).replace(/(\.\d*?)0+ /, "$1 ").replace(". ", " "));
            mark.style.left = (tick - from) / (to - from) * 100 + "%";
            axis.append(mark);
          }
        }

        // The overview counts the requests in flight in each part of the whole time.
        function drawOverview() {
          const overview = element("overview"), parts = 160, span = whole[1] - whole[0];
          const counts = new Float64Array(parts + 1), bad = new Uint8Array(parts);
          const part = time => Math.min(parts - 1, Math.max(0, Math.floor((time - whole[0]) / span * parts)));
          for (const row of state.shown) {
            counts[part(row.start)] += 1;
            counts[part(row.end) + 1] -= 1;
            if (row.kinds.includes("error")) bad[part(row.end)] = 1;
          }
          for (let index = 1; index <= parts; index++) counts[index] += counts[index - 1];
          const most = Math.max(1, ...counts);
          overview.querySelectorAll("i").forEach(bar => bar.remove());
          const draw = (className, index, height) => {
            const bar = make("i", className);
            bar.style.left = index / parts * 100 + "%";
            bar.style.width = 100 / parts + "%";
            bar.style.height = height + "%";
            overview.append(bar);
          };
          for (let index = 0; index < parts; index++) {
            if (counts[index]) draw("", index, Math.max(8, counts[index] / most * 100));
            if (bad[index]) draw("bad", index, 12);
          }
          drawBrush();
        }

        function drawBrush() {
          const brush = element("brush"), span = whole[1] - whole[0];
          brush.hidden = state.view[0] <= whole[0] && state.view[1] >= whole[1];
          brush.style.left = (state.view[0] - whole[0]) / span * 100 + "%";
          brush.style.width = (state.view[1] - state.view[0]) / span * 100 + "%";
        }

        function drawTotals() {
          const shown = state.shown, count = shown.length;
          const size = shown.reduce((sum, row) => sum + (row.size || 0), 0);
          const errors = shown.filter(row => row.kinds.includes("error")).length;
          const start = shown.reduce((time, row) => Math.min(time, row.start), Infinity);
          const end = shown.reduce((time, row) => Math.max(time, row.end), -Infinity);
          const counted = (number, noun) => number + " " + noun + (number === 1 ? "" : "s");
          const parts = [(count === rows.length ? "" : count + " of ") + counted(rows.length, "row"),
            counted(new Set(shown.map(row => row.request)).size, "request"), bytes(size) + " received",
            count ? duration(end - start) : "0 ms", counted(errors, "error")];
          element("totals").textContent = parts.join(" \u00b7 ");
          const empty = element("empty");
          empty.hidden = count > 0;
          empty.textContent = rows.length ? "No request matches the filters. Press Escape to clear them."
            : "The archive has no requests.";
        }

        let scheduled = 0;
        function schedule() {
          if (!scheduled) scheduled = requestAnimationFrame(() => { scheduled = 0; drawRows(false); });
        }

        function refresh() {
          select();
          grid.setAttribute("aria-rowcount", state.shown.length);
          drawTotals();
          drawOverview();
          drawRows(true);
        }

        function look(from, to) {
          const least = Math.max((whole[1] - whole[0]) / 1e6, 0.01);
          const span = Math.min(Math.max(to - from, least), whole[1] - whole[0]);
          const start = Math.min(Math.max(from, whole[0]), whole[1] - span);
          state.view = [start, start + span];
          drawAxis();
          drawBrush();
          drawRows(true);
        }

        function zoom(factor, at = 0.5) {
          const [from, to] = state.view, middle = from + (to - from) * at;
          look(middle - (middle - from) * factor, middle + (to - middle) * factor);
        }

        """#
}
