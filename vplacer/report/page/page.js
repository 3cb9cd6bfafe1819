"use strict";
// Colours, and links inside the page: they leave the fragment alone, because the filter is kept there.
(() => {
  const root = document.documentElement;
  root.classList.add("scripted");
  const theme = document.getElementById("theme");
  // Storage may be refused, as it is for files in some browsers; the choice then lasts as long as the page.
  const remembered = () => { try { return localStorage.getItem("vplacer-theme") || ""; } catch { return ""; } };
  const remember = (value) => { try { localStorage.setItem("vplacer-theme", value); } catch { /* see above */ } };
  const show = (value) => { if (value) root.dataset.theme = value; else delete root.dataset.theme; };
  theme.value = remembered();
  if (theme.selectedIndex < 0) theme.value = "";
  show(theme.value);
  theme.addEventListener("change", () => { show(theme.value); remember(theme.value); });

  const goTo = (target) => {
    for (let at = target; at; at = at.parentElement) if (at.tagName === "DETAILS") at.open = true;
    const focus = target.tagName === "DETAILS" ? target.querySelector("summary") : target;
    if (focus.tabIndex < 0 && !focus.hasAttribute("tabindex")) focus.setAttribute("tabindex", "-1");
    focus.focus({ preventScroll: true });
    target.scrollIntoView({ block: "start" });
  };
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[href^='#']");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    const target = document.getElementById(link.getAttribute("href").slice(1));
    if (!target) return;
    event.preventDefault();
    if (link.dataset.filter !== undefined) {
      document.dispatchEvent(new CustomEvent("filter", { detail: link.dataset.filter }));
    }
    goTo(target);
  });
})();
