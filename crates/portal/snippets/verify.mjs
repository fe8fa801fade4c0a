import { createHmac, timingSafeEqual } from "node:crypto";

/** Whether X-Service-Signature is a signature of the raw body (a Buffer), not older than five minutes. */
export function verify(header, body, secret, now = Date.now() / 1000) {
  const items = header.split(",").map((item) => {
    const [name, ...value] = item.split("=");
    return { name, value: value.join("=") };
  });
  const times = items.filter((item) => item.name === "t").map((item) => item.value);
  if (times.length !== 1 || !/^[0-9]+$/.test(times[0])) return false;
  if (Math.abs(now - Number(times[0])) > 300) return false;
  const expected = createHmac("sha256", secret).update(`${times[0]}.`).update(body).digest();
  // One that fits is enough: during a rotation there are several.
  return items.some((item) => {
    const given = Buffer.from(item.name === "v1" ? item.value : "", "hex");
    return given.length === expected.length && timingSafeEqual(given, expected);
  });
}
