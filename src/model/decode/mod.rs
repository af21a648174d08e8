//! WIRE → DELTAS: turns the bytes of a streaming answer into dunlin's own words.
//!
//! The transport feeds whatever the network gave into a `Decoder`; `dunlin debug decode` and the
//! tests feed files. No I/O, no clock, nothing of HTTP in here.
//!
//! # What goes back to the same model: the shape of every `provider` value
//!
//! `Delta::BlockEnd::provider` and `Delta::CallEnd::provider` hold what the wire wants to see again.
//! They are stored with the part and given to the encoder of the same wire unread. Each is a JSON
//! object with `wire` (`anthropic`, `openai-chat`, `openai-responses`, `gemini`) and `type`. An encoder
//! skips a value whose `wire` is not its own, and a value without meaning to it. Text parts of the
//! store have no room for such data, so what belongs to text travels in a REASONING block with empty
//! text, at the place in the order where it belongs.
//!
//! Reasoning blocks:
//!
//! | wire | type | other fields | encode as |
//! | --- | --- | --- | --- |
//! | anthropic | `thinking` | `signature` | `{"type":"thinking","thinking":TEXT,"signature":…}`, also with empty text |
//! | anthropic | `redacted_thinking` | `data` | `{"type":"redacted_thinking","data":…}` |
//! | anthropic | `opaque` | `block` | `block` verbatim (server tools and their results, compaction, fallback …) |
//! | openai-chat | `reasoning` | `field`, `reasoning_details`?, `thinking_blocks`?, `reasoning_opaque`?, `extra_content`? | text as message field `field` where the dialect wants it back; `reasoning_details` and `thinking_blocks` of all blocks of the message concatenated; the others as members of the message |
//! | openai-responses | `reasoning` | `item` | `item` verbatim; it stands on the LAST block of its item, the item's other blocks have no provider value and are skipped |
//! | openai-responses | `message` | `phase`, `id`? | sets `phase` of the message item that the text blocks after it make, until the next block that is no text |
//! | openai-responses | `opaque` | `item` | `item` verbatim (web search, code interpreter, mcp, compaction …) |
//! | gemini | `thought` | `thoughtSignature` | part `{"text":TEXT,"thought":true,"thoughtSignature":…}` |
//! | gemini | `text` | `thoughtSignature` | puts `thoughtSignature` on the text part made of the text block directly before |
//! | gemini | `opaque` | `part` | `part` verbatim (empty text with a signature, executable code, its result …) |
//!
//! `field` is one of `reasoning_content`, `reasoning`, `reasoning_text`, `reasoning_details` (text only
//! in the details), `thinking` (Mistral: a content array item `{"type":"thinking","thinking":[{"type":
//! "text","text":TEXT}]}`), `think` (`<think>` tags inside the content, or a field that only few servers
//! have; leave it out when replaying),
//! or `` (no visible text).
//! Reasoning without a provider value cannot be replayed: skip it.
//!
//! Calls:
//!
//! | wire | type | other fields | encode as |
//! | --- | --- | --- | --- |
//! | anthropic | | | never has one |
//! | openai-chat | `call` | `extra_content` | member `extra_content` of the tool call |
//! | openai-responses | `function_call` | `item_id`?, `namespace`? | function_call item, with `id` (if the server stores) and `namespace` |
//! | openai-responses | `custom_tool_call` | the same | custom_tool_call item: the call's `input` value is a JSON string |
//! | gemini | `functionCall` | `id`?, `thoughtSignature`? | `id` inside functionCall AND its functionResponse (absent: the wire had none, send none); `thoughtSignature` beside functionCall |
//!
//! Text blocks: `{"wire":…,"type":"refusal"}` marks text that is a refusal; nothing to replay.

mod anthropic;
mod decoder;
mod gemini;
mod json;
mod neutral;
mod openai_chat;
mod openai_responses;
mod out;

pub use decoder::{Decoded, Decoder, Wire};
pub use neutral::{decode_bytes, neutral};

#[cfg(test)]
#[path = "decode_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "dialects/mod_tests.rs"]
mod dialects;
