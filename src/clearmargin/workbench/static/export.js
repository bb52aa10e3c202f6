import { on } from "./page.js";

on("result", (body) => {
  if (["exports", "report", "train", "extract"].includes(body.kind)) location.reload();
});
