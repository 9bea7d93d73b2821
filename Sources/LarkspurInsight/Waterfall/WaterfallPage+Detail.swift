extension WaterfallPage {
    /// Shows the details of a row, and the hint at the pointer.
    static let detail = #"""
        const panel = element("detail");

        function phaseTable(row) {
          const box = make("div");
          let time = 0;
          const line = (index, name, value, from) => {
            const part = make("div", "phase"), label = make("span"), track = make("span", "track");
            const swatch = make("i", index < 0 ? "" : "p" + index);
            label.append(swatch, document.createTextNode(name));
            if (value > 0 && row.length > 0 && index >= 0) {
              const bar = make("i", "p" + index);
              bar.style.left = from / row.length * 100 + "%";
              bar.style.width = value / row.length * 100 + "%";
              track.append(bar);
            }
            part.append(label, track, make("span", "number", value < 0 ? "\u2013" : duration(value)));
            box.append(part);
          };
          row.phases.forEach((value, index) => {
            line(index, phaseNames[index], value, time);
            time += Math.max(0, value);
          });
          line(-1, "Total", row.length, 0);
          return box;
        }

        function pairs(list) {
          const box = make("dl");
          for (const [name, value] of list) {
            if (value === undefined || value === "") continue;
            box.append(make("dt", "", name), make("dd", "", value));
          }
          return box;
        }

        function section(title, ...content) {
          panel.append(make("h3", "", title), ...content);
        }

        function hexDump(hex) {
          const lines = [];
          for (let at = 0; at < hex.length; at += 32) {
            const part = hex.slice(at, at + 32).match(/../g) || [];
            const text = part.map(pair => { const code = parseInt(pair, 16); return code > 31 && code < 127 ? String.fromCharCode(code) : "."; });
            lines.push((at / 2).toString(16).padStart(4, "0") + "  " + part.join(" ").padEnd(47) + "  " + text.join(""));
          }
          return lines.join("\n");
        }

        function bodyText(body) {
          if (body.hex !== undefined) return hexDump(body.hex);
          const text = body.text, isCut = body.recorded > new TextEncoder().encode(text).length;
          if (isCut || !/^\s*[\[{]/.test(text)) return text;
          try { return JSON.stringify(JSON.parse(text), null, 2); } catch { return text; }
        }

        function bodySection(title, body) {
          if (!body || !body.size && !body.recorded && !body.comment) return;
          const content = [];
          const facts = [body.type, body.size === undefined ? "" : bytes(body.size)].filter(Boolean).join(", ");
          if (facts) content.push(make("p", "note", facts));
          if (body.comment) content.push(make("p", "note", body.comment));
          const has = body.text !== undefined || body.hex !== undefined;
          if (has) {
            const shownBytes = body.hex !== undefined ? body.hex.length / 2 : new TextEncoder().encode(body.text).length;
            const pre = make("pre", "", bodyText(body));
            pre.tabIndex = 0;
            content.push(pre);
            if (shownBytes < body.recorded) content.push(make("p", "note",
              "The page shows the first " + bytes(shownBytes) + " of " + bytes(body.recorded) + "; the archive has the rest."));
          } else if (body.recorded) {
            content.push(make("p", "note", "The page does not show this body because of its limit of size; the archive has it."));
          }
          section(title, ...content);
        }

        function messageList(row, messages) {
          const box = make("div");
          for (const message of messages) {
            const content = message.text !== undefined ? message.text : message.hex !== undefined ? hexDump(message.hex) : "";
            box.append(make("p", "note", (message.sent ? "\u2191 sent" : "\u2193 received") + " at " +
              duration(Math.max(0, message.time)) + ", " + bytes(message.size)));
            if (content) box.append(make("pre", "", content));
          }
          if (row.messages > messages.length) box.append(make("p", "note",
            "The page shows the first " + messages.length + " of " + row.messages + " messages."));
          return box;
        }

        function showDetail(row) {
          const detail = detailOf(row), top = make("div", "top");
          panel.textContent = "";
          const close = make("button", "", "\u2715");
          close.type = "button";
          close.setAttribute("aria-label", "Close the details (Escape)");
          close.addEventListener("click", hideDetail);
          top.append(make("h2", "", row.method + " " + row.url), close);
          panel.append(top);
          if (row.error) panel.append(make("p", "problem", row.error));
          section("Summary", pairs([
            ["Status", row.status ? row.status + " " + (detail.statusText || "") : row.pending ? "in flight" : "no response"],
            ["Started", new Date(head.start + row.start).toISOString() + " (" + duration(row.start) + ")"],
            ["Version", detail.version], ["Server", detail.address], ["Type", row.type], ["Resource", detail.resource],
            ["Size", row.size === undefined ? undefined : bytes(row.size) + " (" + row.size + " bytes)"],
            ["Cache", row.cache], ["Redirect to", row.redirect], ["Attempt", row.attempt], ["Hop", row.hop]]));
          section("Phases", phaseTable(row));
          const hops = kin(row);
          if (hops.length > 1) {
            const box = make("div", "hops");
            for (const hop of hops) {
              const button = make("button", "", statusText(hop) + "  " + hop.method + " " + hop.path + "  \u00b7  " +
                duration(hop.length) + (hop.attempt > 1 ? "  \u00b7  attempt " + hop.attempt : ""));
              button.type = "button";
              if (hop === row) button.setAttribute("aria-current", "true");
              button.addEventListener("click", () => choose(hop, true));
              box.append(button);
            }
            section("Hops of this request", box);
          }
          if (detail.omitted) section("Fields and bodies", make("p", "note", "The page does not show them because of its limit of size."));
          if (detail.requestFields) section("Request fields", pairs(detail.requestFields));
          bodySection("Request body", detail.requestBody);
          if (detail.responseFields && detail.responseFields.length) section("Response fields", pairs(detail.responseFields));
          bodySection("Response body", detail.responseBody);
          if (detail.trailers && detail.trailers.length) section("Trailers", pairs(detail.trailers));
          if (detail.messages) section("Messages", messageList(row, detail.messages));
          panel.hidden = false;
          panel.scrollTop = 0;
          redraw();
        }

        function hideDetail() {
          panel.hidden = true;
          redraw();
          grid.focus();
        }

        function showTip(row, x, y) {
          tip.textContent = "";
          tip.append(make("b", "", row.method + " " + (row.url.length > 160 ? row.url.slice(0, 160) + "\u2026" : row.url)), phaseTable(row));
          if (row.error) tip.append(make("p", "problem", row.error.slice(0, 300)));
          tip.hidden = false;
          const box = tip.getBoundingClientRect();
          tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 8)) + "px";
          tip.style.top = (y + 18 + box.height > innerHeight ? Math.max(4, y - box.height - 10) : y + 18) + "px";
        }

        """#
}
