// Pictures of hosts, drawn from their data when they are opened, and all that have findings for the printer.
(() => {
  const SIGNS = {
    local: ["✓", "local"], same: ["!", "same socket, other node"],
    other: ["✕", "other socket"], unknown: ["?", "not known"],
  };
  const make = (tag, look, ...inside) => {
    const made = document.createElement(tag);
    if (look) made.className = look;
    made.append(...inside.filter((item) => item !== null && item !== ""));
    return made;
  };
  const name = (text) => make("bdi", "", text);
  const sign = (relation) => {
    const [mark, words] = SIGNS[relation];
    const made = make("span", `sign ${relation}`, mark);
    made.setAttribute("aria-hidden", "true");
    return [made, make("span", "quiet", ` ${words}`)];
  };
  const part = (look, label, small) => {
    const made = make("div", look);
    made.setAttribute("role", "group");
    made.setAttribute("aria-label", label);
    made.append(make("p", "label", label, small ? make("small", "", ` ${small}`) : null));
    return made;
  };

  const holder = (host, held) => {
    const made = make("span", "held", ...sign(held.r), " ", name(held.n));
    made.dataset.vm = held.v;
    const notes = [held.how, held.later ? "when switched on" : "", held.sure].filter(Boolean).join(", ");
    if (notes) made.append(make("span", "quiet", ` ${notes}`));
    return made;
  };
  const card = (host, data) => {
    const far = data.h.filter((held) => !held.later).map((held) => held.r);
    const worst = far.includes("other") ? " far-other" : far.includes("same") ? " far-same" : "";
    const made = make("li", `card ${data.k}${data.h.length || data.m ? "" : " free"}${worst}`,
      make("span", "label", data.l, make("small", "", ` ${data.n}`)), make("span", "addr", data.a));
    made.dataset.card = data.l;
    if (data.m && !data.h.length) made.append(make("span", "held", ...sign("unknown"), make("span", "quiet", " whether it is free")));
    else if (data.x) made.append(make("span", "held quiet", data.x));
    else if (!data.h.length && data.k !== "nvswitch") made.append(make("span", "held quiet", "○ free"));
    for (const held of data.h) made.append(holder(host, held));
    return made;
  };
  // Cards inside the switches they hang on, the outermost first.
  const cards = (host, list, depth) => {
    const made = make("ul", "cards");
    const below = new Map();
    for (const item of list) {
      const above = item.s[depth];
      if (above === undefined) made.append(card(host, item));
      else if (below.has(above)) below.get(above).push(item);
      else {
        below.set(above, [item]);
        made.append(make("li", "switch", make("span", "quiet", `PCIe switch ${above}`)));
        made.lastChild.dataset.port = above;
      }
    }
    for (const item of made.children) {
      if (item.dataset.port) item.append(cards(host, below.get(item.dataset.port), depth + 1));
    }
    return made;
  };
  const vm = (data) => {
    const made = make("li", `vm ${data.on ? "" : "off "}${data.far}`,
      make("span", "label", data.on ? "● " : "○ ", name(data.n), data.part ? make("span", "badge part", data.part) : null),
      make("span", "quiet", [data.on ? "" : data.p, data.size, data.home].filter(Boolean).join(" · ")));
    made.dataset.vm = data.i;
    if (data.part) made.classList.add("touched");
    const holds = make("div", "holds");
    for (const [label, relation] of data.c) holds.append(make("span", "", `${label} `, ...sign(relation)));
    if (data.u) holds.append(make("span", "quiet", data.u));
    if (holds.childNodes.length) made.append(holds);
    return made;
  };
  const vms = (list) => make("ul", "vms", ...list.map(vm));

  const draw = (box, host) => {
    const made = document.createDocumentFragment();
    made.append(make("p", "quiet", host.about));
    for (const text of host.state) made.append(make("p", "warn", text));
    const packages = make("div", "packages");
    for (const group of host.packages) {
      const whole = part("package", group.n);
      for (const data of group.nodes) {
        const node = part("node", `pNUMA ${data.id}`, data.size);
        const here = host.cards.filter((item) => item.o === data.id);
        if (here.length) node.append(cards(host, here, 0));
        else node.append(make("p", "quiet", "no GPU, no NIC"));
        const at = host.vms.filter((item) => item.at.length === 1 && item.at[0] === data.id);
        if (at.length) node.append(vms(at));
        whole.append(node);
      }
      packages.append(whole);
    }
    made.append(packages);
    const ids = host.packages.flatMap((group) => group.nodes.map((node) => node.id));
    const lost = host.cards.filter((item) => !ids.includes(item.o));
    if (lost.length) {
      const apart = part("apart", "Locality not known", "vCenter lists these under no NUMA node; they may be on any");
      apart.append(cards(host, lost, 0));
      made.append(apart);
    }
    if (host.links.length) {
      made.append(make("ul", "linkbar", ...host.links.map((text) => make("li", "links", text))));
    }
    for (const [title, fits] of [
      ["VMs across several pNUMA nodes", (item) => item.at.length > 1],
      ["VMs without a home node", (item) => !item.at.length && item.on],
      ["VMs without a home node, not running", (item) => !item.at.length && !item.on],
    ]) {
      const found = host.vms.filter(fits);
      if (!found.length) continue;
      const apart = part("apart", title);
      apart.append(vms(found));
      made.append(apart);
    }
    box.replaceChildren(made);
  };

  const drawn = new WeakSet();
  const open = (details) => {
    if (!details.open || drawn.has(details)) return;
    drawn.add(details);
    for (const box of details.querySelectorAll(".picture")) {
      draw(box, JSON.parse(box.nextElementSibling.textContent));
    }
  };
  const all = [...document.querySelectorAll("details.host")];
  const watcher = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) open(entry.target);
  }, { rootMargin: "400px" });
  for (const details of all) {
    details.addEventListener("toggle", () => open(details));
    watcher.observe(details);
  }
  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all.filter((details) => details.dataset.found !== undefined && !details.open);
    for (const details of opened) details.open = true;
    for (const details of all) open(details);
  });
  addEventListener("afterprint", () => { for (const details of opened) details.open = false; opened = []; });
})();
