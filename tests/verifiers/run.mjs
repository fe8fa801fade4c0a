// Answers cases on standard input with what the snippet says of each.
import { readFileSync } from "node:fs";
import { verify } from "./verify.mjs";

const cases = JSON.parse(readFileSync(0, "utf8"));
const said = cases.map(({ header, body, secret, now }) => verify(header, Buffer.from(body, "hex"), secret, now));
console.log(JSON.stringify(said));
