// Filters of the findings; the fragment of the address keeps them.
(() => {
  const form = document.getElementById("filters");
  if (!form) return;
  const items = [...document.querySelectorAll("#list .finding")];
  const groups = [...document.querySelectorAll("#list .group")].map((group) => ({
    group, seen: group.querySelector(".seen"), items: [...group.querySelectorAll(".finding")],
  }));
  const heads = new Map(groups.map(({ group }) => [group, group.querySelector(".head").textContent]));
  const hosts = [...document.querySelectorAll("details.host")];
  const hostsShown = document.getElementById("hosts-shown");
  const words = items.map((item) => `${heads.get(item.closest(".group"))} ${item.textContent}`.toLowerCase());
  const count = document.getElementById("count");
  const nothing = document.getElementById("nothing");
  const severities = [...form.querySelectorAll("[name=severity]")];
  const field = (name) => form.elements.namedItem(name);
  const number = (value) => value.toLocaleString("en");

  const read = () => {
    const found = new URLSearchParams();
    const wanted = severities.filter((box) => box.checked).map((box) => box.value);
    if (wanted.length < severities.length) found.set("severity", wanted.join(","));
    for (const name of ["rule", "cluster", "host", "text"]) {
      const value = field(name) ? field(name).value.trim() : "";
      if (value) found.set(name, value);
    }
    for (const name of ["waived", "new"]) if (field(name) && field(name).checked) found.set(name, "1");
    return found;
  };
  const write = (wanted) => {
    const given = wanted.get("severity");
    const chosen = given === null ? null : given.split(",");
    for (const box of severities) box.checked = chosen === null || chosen.includes(box.value);
    for (const name of ["rule", "cluster", "host", "text"]) {
      const control = field(name);
      if (!control) continue;
      control.value = wanted.get(name) || "";
      if (control.tagName === "SELECT" && control.selectedIndex < 0) control.value = "";
    }
    for (const name of ["waived", "new"]) if (field(name)) field(name).checked = wanted.get(name) === "1";
  };
  // While findings are filtered, only the hosts of those that are left.
  const showHosts = (filtered) => {
    if (!hostsShown) return;
    const left = new Set(items.filter((item) => !item.hidden).map((item) => item.dataset.host));
    for (const host of hosts) host.hidden = filtered && !left.has(host.dataset.moid);
    const remaining = hosts.filter((host) => !host.hidden).length;
    hostsShown.hidden = !filtered;
    hostsShown.textContent = filtered
      ? `${number(remaining)} of ${number(hosts.length)} hosts: those of the findings that the filters show.` : "";
  };
  const apply = () => {
    const wanted = read();
    const severity = wanted.has("severity") ? wanted.get("severity").split(",") : null;
    const terms = (wanted.get("text") || "").toLowerCase().split(/\s+/).filter(Boolean);
    let shown = 0;
    items.forEach((item, index) => {
      const data = item.dataset;
      const fits = (!severity || severity.includes(data.severity))
        && (!wanted.has("rule") || data.rule === wanted.get("rule"))
        && (!wanted.has("cluster") || data.cluster === wanted.get("cluster"))
        && (!wanted.has("host") || data.host === wanted.get("host"))
        && (wanted.has("waived") || data.waived === undefined)
        && (!wanted.has("new") || data.new !== undefined)
        && terms.every((term) => words[index].includes(term));
      item.hidden = !fits;
      shown += fits ? 1 : 0;
    });
    for (const { group, seen, items: own } of groups) {
      const left = own.filter((item) => !item.hidden).length;
      group.hidden = left === 0;
      seen.textContent = left === own.length ? number(left) : `${number(left)} of ${number(own.length)}`;
    }
    showHosts([...wanted.keys()].some((name) => name !== "waived"));
    count.textContent = `Showing ${number(shown)} of ${number(items.length)} findings.`;
    nothing.hidden = shown > 0;
    return wanted;
  };
  const keep = (wanted) => {
    const text = wanted.toString();
    try { history.replaceState(null, "", text ? `#${text}` : "#"); } catch { location.hash = text; }
  };
  const changed = () => keep(apply());
  const fromAddress = () => {
    const text = location.hash.slice(1);
    write(new URLSearchParams(text.includes("=") ? text : ""));
    apply();
  };
  form.addEventListener("input", changed);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(changed));
  document.addEventListener("filter", (event) => { write(new URLSearchParams(event.detail)); changed(); });
  addEventListener("hashchange", fromAddress);
  fromAddress();
})();
