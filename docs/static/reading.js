// What the theme lacks for readers with a keyboard or a screen reader.
for (const scrolls of document.querySelectorAll("div.highlight pre, div.table-wrapper")) scrolls.tabIndex = 0;
document.querySelector("aside.sidebar-drawer")?.setAttribute("aria-label", "All pages");
document.querySelector("aside.toc-drawer")?.setAttribute("aria-label", "On this page");
