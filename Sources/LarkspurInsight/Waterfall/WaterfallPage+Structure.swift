extension WaterfallPage {
    /// The elements of the page. The script adds what depends on the requests.
    static let structure = #"""
        <header>
          <h1 id="title"></h1>
          <button id="theme" type="button" title="Switch between light and dark">Theme</button>
        </header>
        <form id="filters" role="search" aria-label="Filters">
          <input id="text" type="search" placeholder="Filter by URL, method, error&#x2026; ( / )" aria-label="Filter by text">
          <select id="host" aria-label="Host"><option value="">All hosts</option></select>
          <select id="status" aria-label="Status"><option value="">All statuses</option></select>
          <select id="kind" aria-label="Kind"><option value="">All kinds</option></select>
          <label><input id="together" type="checkbox" checked> Join hops</label>
          <span class="zoom" role="group" aria-label="Zoom">
            <button id="closer" type="button" title="Zoom in (+)" aria-label="Zoom in">+</button>
            <button id="wider" type="button" title="Zoom out (-)" aria-label="Zoom out">&#x2212;</button>
            <button id="all" type="button" title="Show the whole time (0)">Whole time</button>
          </span>
        </form>
        <div id="overview" title="Drag to zoom into a span of time" aria-hidden="true"><div id="brush"></div></div>
        <ul id="legend" aria-label="Phases"></ul>
        <main>
          <div id="table">
            <div id="columns"></div>
            <div id="grid" role="grid" tabindex="0" aria-label="Requests" aria-readonly="true">
              <div id="rowspace" role="rowgroup"></div>
            </div>
            <p id="empty" hidden></p>
          </div>
          <section id="detail" aria-label="Details of the request" tabindex="-1" hidden></section>
        </main>
        <footer><span id="totals" role="status"></span><span id="notes"></span></footer>
        <div id="tip" aria-hidden="true" hidden></div>
        <noscript>This page needs its own script.</noscript>
        """#
}
