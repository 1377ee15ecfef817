// Hands out the report that the page holds. Without scripts the page lacks nothing else.
const button = document.getElementById("save");
button.hidden = false;
button.addEventListener("click", () => {
  const report = document.getElementById("report").textContent;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([report], { type: "application/json" }));
  link.download = JSON.parse(report).experiment + ".json";
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
});
