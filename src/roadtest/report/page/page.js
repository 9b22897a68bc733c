"use strict";
(() => {
  const cases = [...document.querySelectorAll("details.case")];
  const tiles = [...document.querySelectorAll("button.tile")];
  const search = document.getElementById("search");
  const nothing = document.querySelector(".none-left");

  const filter = () => {
    const wanted = tiles.filter((tile) => tile.getAttribute("aria-pressed") === "true").map((tile) => tile.dataset.verdict);
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const one of cases) {
      const fits = (!wanted.length || wanted.includes(one.dataset.verdict))
        && words.every((word) => one.dataset.text.includes(word));
      one.hidden = !fits;
    }
    for (const suite of document.querySelectorAll("section.suite")) {
      const members = [...suite.querySelectorAll("details.case")];
      suite.hidden = members.length > 0 && members.every((one) => one.hidden);
    }
    nothing.hidden = cases.length === 0 || cases.some((one) => !one.hidden);
  };

  for (const tile of tiles) {
    tile.addEventListener("click", () => {
      tile.setAttribute("aria-pressed", String(tile.getAttribute("aria-pressed") !== "true"));
      filter();
    });
  }
  search.addEventListener("input", filter);

  for (const button of document.querySelectorAll("button.copy")) {
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(button.dataset.copy);
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
  }

  const reveal = () => {
    const target = location.hash && document.getElementById(location.hash.slice(1));
    if (target instanceof HTMLDetailsElement) target.open = true;
  };
  addEventListener("hashchange", reveal);
  reveal();
  if (!location.hash) {
    const first = cases.find((one) => one.dataset.verdict !== "passed");
    if (first) first.open = true;
  }
})();
