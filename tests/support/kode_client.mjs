// A client of the Kode service as one writes it in JavaScript; prints the frames as one array.
import process from "node:process";

const response = await fetch(`${process.env.KODE_URL}/api/chat/stream`, {
  method: "POST",
  headers: { "Content-Type": "application/json", "X-API-Key": process.env.KODE_API_SECRET },
  body: process.env.KODE_BODY,
});
const frames = [];
let rest = "";
const decoder = new TextDecoder();
for await (const piece of response.body) {
  const events = (rest + decoder.decode(piece, { stream: true })).split("\n\n");
  rest = events.pop();
  for (const event of events) frames.push(JSON.parse(event.slice("data: ".length)));
}
process.stdout.write(JSON.stringify(frames));
