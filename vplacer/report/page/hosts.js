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
  // Signs are for the eye; the word beside them is for all.
  const unread = (mark, look = "") => {
    const made = make("span", look, mark);
    made.setAttribute("aria-hidden", "true");
    return made;
  };
  const sign = (relation) => {
    const [mark, words] = SIGNS[relation];
    return [unread(mark, `sign ${relation}`), make("span", "quiet", ` ${words}`)];
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
    else if (!data.h.length && data.k !== "nvswitch") made.append(make("span", "held quiet", unread("○ "), "free"));
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
      make("span", "label", unread(data.on ? "● " : "○ "), name(data.n), data.part ? make("span", "badge part", data.part) : null),
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

  // Lines over the boxes: from a VM to each far card that it holds, and between neighbours joined by NVLink.
  // They say nothing that is not said in words: readers of the screen, narrow pages and printers go without.
  const SVG = "http://www.w3.org/2000/svg";
  const wires = (box, host) => {
    const old = box.querySelector("svg.wires");
    if (old) old.remove();
    const around = box.getBoundingClientRect();
    if (!around.width) return;
    const svg = document.createElementNS(SVG, "svg");
    svg.setAttribute("class", "wires");
    svg.setAttribute("aria-hidden", "true");
    const place = (item) => {
      const at = item.getBoundingClientRect();
      return {
        left: at.left - around.left, right: at.right - around.left,
        top: at.top - around.top, middle: at.top - around.top + at.height / 2, high: at.height,
      };
    };
    const path = (look, way) => {
      const made = document.createElementNS(SVG, "path");
      made.setAttribute("class", look);
      made.setAttribute("d", way);
      svg.append(made);
    };
    const byLabel = new Map([...box.querySelectorAll(".card")].map((item) => [item.dataset.card, item]));
    const chips = new Map([...box.querySelectorAll(".vm")].map((item) => [item.dataset.vm, item]));
    for (const data of host.vms) {
      for (const [label, relation] of data.on ? data.c : []) {
        if (relation !== "other" && relation !== "same") continue;
        const chip = chips.get(data.i), held = byLabel.get(label);
        if (!chip || !held) continue;
        const from = place(chip), to = place(held);
        const y = from.top + Math.min(18, from.high / 2), z = to.top + Math.min(18, to.high / 2);
        if (to.left >= from.right) {
          const bend = Math.max(30, (to.left - from.right) / 2);
          path(relation, `M${from.right} ${y}C${from.right + bend} ${y} ${to.left - bend} ${z} ${to.left} ${z}`);
        } else if (to.right <= from.left) {
          const bend = Math.max(30, (from.left - to.right) / 2);
          path(relation, `M${from.left} ${y}C${from.left - bend} ${y} ${to.right + bend} ${z} ${to.right} ${z}`);
        } else {
          const side = Math.max(from.right, to.right) + 24;
          path(relation, `M${from.right} ${y}C${side} ${y} ${side} ${z} ${to.right} ${z}`);
        }
      }
    }
    for (const [one, other] of host.pairs) {
      const ends = [one, other].map((label) => byLabel.get(label)).filter(Boolean).map(place);
      if (ends.length < 2) continue;
      const [left, right] = ends.sort((a, b) => a.left - b.left);
      if (left.top !== right.top || right.left - left.right > 40 || right.left < left.right) continue;
      for (const y of [left.top + 14, left.top + 22]) path("nv", `M${left.right} ${y}H${right.left}`);
    }
    box.append(svg);
  };

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
    new ResizeObserver(() => wires(box, host)).observe(box);
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
