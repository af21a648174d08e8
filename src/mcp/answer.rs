//! What a server answered → what a model reads: text, pictures, and a note for what neither is.
//!
//! Pure but for the store of pictures, which is passed in.

use base64::Engine as _;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::protocol::FilePart;
use crate::tools::{BlobSink, media};

/// An answer in our words.
#[derive(Debug, Default)]
pub(super) struct Answer {
    /// All text, whole.
    pub(super) text: String,
    /// Pictures and documents.
    pub(super) attachments: Vec<FilePart>,
    /// True if the server calls it an error.
    pub(super) failed: bool,
}

/// Reads an answer. `keep` stores what is not text; without it a note stands for that.
pub(super) fn read(result: CallToolResult, keep: Option<&dyn BlobSink>) -> Answer {
    let mut answer = Answer {
        failed: result.is_error.unwrap_or(false),
        ..Answer::default()
    };
    for (at, block) in result.content.into_iter().enumerate() {
        match block {
            ContentBlock::Text(text) => answer.say(&text.text),
            ContentBlock::Image(image) => {
                answer.attach(
                    &image.mime_type,
                    &image.data,
                    &format!("image {}", at + 1),
                    keep,
                );
            }
            ContentBlock::Audio(audio) => {
                answer.say(&format!(
                    "[A sound of type {}: it can't be shown.]",
                    audio.mime_type
                ));
            }
            ContentBlock::ResourceLink(link) => {
                let about = link.description.as_deref().unwrap_or_default();
                answer.say(&format!("[{}]({}) {about}", link.name, link.uri));
            }
            ContentBlock::Resource(resource) => match resource.resource {
                ResourceContents::TextResourceContents { uri, text, .. } => {
                    answer.say(&format!("{uri}:\n{text}"));
                }
                ResourceContents::BlobResourceContents {
                    uri,
                    mime_type,
                    blob,
                    ..
                } => {
                    let mime = mime_type.unwrap_or_default();
                    answer.attach(&mime, &blob, &uri, keep);
                }
                _ => answer.say("[A resource of a kind that dunlin does not know.]"),
            },
            _ => answer.say("[Content of a kind that dunlin does not know.]"),
        }
    }
    if answer.text.is_empty()
        && answer.attachments.is_empty()
        && let Some(structured) = result.structured_content
    {
        let text = serde_json::to_string_pretty(&structured);
        answer.say(&text.unwrap_or_default());
    }
    answer
}

impl Answer {
    fn say(&mut self, text: &str) {
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// Models take pictures and PDFs; of anything else only its size is told.
    fn attach(&mut self, mime: &str, data: &str, name: &str, keep: Option<&dyn BlobSink>) {
        let bytes = base64::engine::general_purpose::STANDARD.decode(data.trim());
        let Ok(bytes) = bytes else {
            self.say(&format!("[{name}: {mime} that is not valid base64.]"));
            return;
        };
        let size = bytes.len();
        let kept = media::fit(bytes).and_then(|fitted| {
            let keep = keep.ok_or_else(|| "cannot be kept here.".to_owned())?;
            let source = keep.keep(fitted.mime, &fitted.bytes)?;
            Ok((fitted.mime, source))
        });
        match kept {
            Ok((mime, source)) => self.attachments.push(FilePart {
                mime: mime.to_owned(),
                name: name.to_owned(),
                source,
            }),
            Err(why) => self.say(&format!("[{name} ({mime}, {size} bytes) {why}]")),
        }
    }
}
