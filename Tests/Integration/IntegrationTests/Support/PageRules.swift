import JSON
import Testing

/// The rules of every screen of the console, as expressions for a page. Each gives a list of what is wrong.
///
/// Sources: WCAG 2.2, levels A and AA.
enum PageRules {
    /// Controls without a name (4.1.2), references to nothing, ids used twice, headings that skip (1.3.1), controls
    /// hidden from screen readers, content wider than the window (1.4.10), and what scripts threw.
    static let structure = """
        (() => {
          const found = [];
          const text = element => element?.textContent.trim() ?? "";
          const shown = element => element.outerHTML.slice(0, 120);
          const name = element => element.getAttribute("aria-label")
            || text(document.getElementById(element.getAttribute("aria-labelledby")))
            || [...(element.labels ?? [])].map(text).join(" ")
            || (element.matches("input, select, textarea") ? "" : text(element)) || element.title;
          const controls = "a[href], button, input, select, textarea, summary, [role=region], nav, dialog, table, "
            + "[tabindex='0']";
          for (const element of document.querySelectorAll(controls)) {
            if (element.matches("pre") && text(element)) continue;
            if (!name(element)) found.push("no name: " + shown(element));
            if (element.closest("[aria-hidden=true]")) found.push("hidden, but has the focus: " + shown(element));
          }
          for (const element of document.querySelectorAll("input, select, textarea")) {
            const label = [...(element.labels ?? [])].find(label => label.checkVisibility());
            if (element.checkVisibility() && !label) found.push("no visible label: " + shown(element));
          }
          const ids = [...document.querySelectorAll("[id]")].map(element => element.id);
          for (const id of new Set(ids)) if (ids.filter(other => other === id).length > 1) found.push("twice: #" + id);
          for (const attribute of ["for", "aria-labelledby", "aria-describedby", "aria-controls", "list"]) {
            for (const element of document.querySelectorAll(`[${attribute}]`)) {
              for (const id of element.getAttribute(attribute).split(" ")) {
                if (!document.getElementById(id)) found.push(`${attribute} names nothing: ${shown(element)}`);
              }
            }
          }
          if (document.querySelectorAll("h1").length !== 1) found.push("not one h1");
          let level = 1;
          for (const heading of document.querySelectorAll("main :is(h1, h2, h3, h4, h5, h6)")) {
            if (!heading.checkVisibility()) continue;
            const own = Number(heading.tagName[1]);
            if (own > level + 1) found.push(`h${own} after h${level}: ${text(heading)}`);
            if (!text(heading)) found.push("an empty heading");
            level = own;
          }
          if (document.querySelector("[tabindex]:not([tabindex='0']):not([tabindex='-1'])")) found.push("tabindex");
          for (const cell of document.querySelectorAll("th:not([scope])")) found.push("no scope: " + text(cell));
          if (document.documentElement.lang !== "en") found.push("no language");
          if (!document.title.includes(" · ")) found.push("the title does not name the screen");
          if (document.querySelectorAll("nav [aria-current=page]").length !== 1) found.push("no current screen");
          if (!document.querySelector("[role=status]")) found.push("no live region");
          if (document.documentElement.scrollWidth > innerWidth) found.push("wider than the window");
          return found.concat(window.faults);
        })()
        """

    /// Text whose colour is too close to what is behind it (1.4.3): below 4.5:1, for large text below 3:1; and outlines
    /// of the focus below 3:1 (1.4.11).
    static let contrast = """
        (() => {
          const found = new Set();
          // From one theme to the other, colours take a moment.
          for (const change of document.getAnimations()) if (change instanceof CSSTransition) change.finish();
          const parsed = text => {
            const parts = text.match(/^rgba?\\((.*)\\)$/)?.[1].split(/[ ,/]+/).map(Number);
            if (!parts) { found.add("a colour of another form: " + text); return [0, 0, 0, 1]; }
            return [parts[0], parts[1], parts[2], parts[3] ?? 1];
          };
          const over = (top, below) => [0, 1, 2].map(at => top[at] * top[3] + below[at] * (1 - top[3])).concat(1);
          const behind = element => {
            const layers = [];
            for (let at = element; at; at = at.parentElement) {
              const colour = parsed(getComputedStyle(at).backgroundColor);
              if (colour[3] > 0) layers.push(colour);
              if (colour[3] === 1) break;
            }
            return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
          };
          const luminance = colour => {
            const [red, green, blue] = colour.slice(0, 3).map(value => value / 255)
              .map(value => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
            return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
          };
          const ratio = (text, ground) => {
            const [light, dark] = [luminance(over(text, ground)), luminance(ground)].sort((a, b) => b - a);
            return (light + 0.05) / (dark + 0.05);
          };
          const check = (element, style, what) => {
            const size = parseFloat(style.fontSize);
            const isLarge = size >= 24 || size >= 18.66 && Number(style.fontWeight) >= 700;
            const value = ratio(parsed(style.color), behind(element));
            if (value < (isLarge ? 3 : 4.5)) {
              found.add(`${value.toFixed(2)}:1 ${element.tagName.toLowerCase()}.${element.className}: ${what.trim()}`);
            }
          };
          const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
          let count = 0;
          while (texts.nextNode()) {
            const element = texts.currentNode.parentElement;
            if (!texts.currentNode.data.trim() || element.closest("option, script, :disabled")) continue;
            if (!element.checkVisibility({visibilityProperty: true})) continue;
            check(element, getComputedStyle(element), texts.currentNode.data);
            count++;
          }
          for (const control of document.querySelectorAll("input, select, textarea")) {
            if (!control.checkVisibility() || control.disabled) continue;
            check(control, getComputedStyle(control), control.value);
            if (control.placeholder) check(control, getComputedStyle(control, "::placeholder"), control.placeholder);
          }
          if (count < 10) found.add(`only ${count} texts`);
          const accent = document.querySelector(".brand");
          for (const place of document.querySelectorAll("body, header, .card, .table")) {
            const value = ratio(parsed(getComputedStyle(accent).color), behind(place));
            if (value < 3) found.add(`${value.toFixed(2)}:1 outline on ${place.className}`);
          }
          return [...found];
        })()
        """

    /// Notes each control that gets the focus, and whether that can be seen. Ends with `focusOrder`.
    static let watchFocus = """
        window.focused = [];
        window.noteFocus = event => {
          const style = getComputedStyle(event.target);
          focused.push({
            element: event.target,
            isVisible: style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2,
          });
        };
        document.addEventListener("focusin", noteFocus);
        document.activeElement.blur();
        """

    /// The controls that Tab reaches.
    static let tabbable = """
        [...document.querySelectorAll("a[href], button, input, select, textarea, summary, [tabindex='0']")]
          .filter(element => element.checkVisibility() && !element.disabled)
        """

    /// Whether the controls are no more those of `controlsBefore`; then `focusOrder` is not for them.
    static let changesControls = """
        (() => {
          const now = \(tabbable);
          const isSame = now.length === controlsBefore.length && now.every((one, at) => one === controlsBefore[at]);
          if (!isSame) document.removeEventListener("focusin", noteFocus);
          return !isSame;
        })()
        """

    /// Controls that got no focus (2.1.1), got it out of order (2.4.3), or did not show it (2.4.7).
    static let focusOrder = """
        (() => {
          document.removeEventListener("focusin", noteFocus);
          const found = [];
          const shown = element => element.outerHTML.slice(0, 100);
          const reached = new Set(focused.map(({element}) => element));
          for (const element of \(tabbable)) if (!reached.has(element)) found.push("not reached: " + shown(element));
          focused.forEach(({element, isVisible}, index) => {
            if (!isVisible) found.push("focus not visible: " + shown(element));
            const before = focused[index - 1]?.element;
            const isAfter = Node.DOCUMENT_POSITION_PRECEDING;
            if (before?.isConnected && element.isConnected && !element.matches(".skip")
              && !(element.compareDocumentPosition(before) & isAfter)) found.push("out of order: " + shown(element));
          });
          return found;
        })()
        """
}

extension Browser.Window {
    /// The rules of every screen, in both themes.
    func keepsRules(_ place: String) async throws {
        try await expectNone(PageRules.structure, place)
        for scheme in ["dark", "light"] {
            try await prefer(colorScheme: scheme)
            try await expectNone(PageRules.contrast, "\(place), \(scheme)")
        }
    }

    private func expectNone(_ rule: String, _ place: String) async throws {
        let found = try await evaluate(rule)
        #expect(found == [], "\(place): \(found)")
    }

    /// Tab reaches every control of the screen in the order of the page, and each shows that it has the focus.
    func showsFocus(_ place: String) async throws {
        // A page that counts as hidden does not poll, so its controls stay.
        try await evaluate("Object.defineProperty(document, 'hidden', {value: true, configurable: true})")
        // Answers to requests sent before may still come, and change the controls: then it begins again.
        var walksLeft = 5
        repeat {
            walksLeft -= 1
            try await evaluate(PageRules.watchFocus)
            let count = try await evaluate("(window.controlsBefore = \(PageRules.tabbable)).length").intValue ?? 0
            #expect(count > 12, "\(place)")
            // One more: between the last and the first control the focus leaves the page.
            for _ in 0...count { try await press("Tab") }
        } while try await evaluate(PageRules.changesControls) == true && walksLeft > 0
        try await expectNone(PageRules.focusOrder, place)
        try await evaluate("delete document.hidden")
    }
}
