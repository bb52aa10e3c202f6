import { on } from "./page.js";

on("result", (body) => {
  if (["report", "train", "extract"].includes(body.kind)) location.reload();
});
