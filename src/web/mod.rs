//! Pages of the web: an address → its bytes, within limits of size, time and reach.
//!
//! Used by the `web_fetch` tool. Private addresses are refused unless the configuration allows them
//! (`address`); redirects are followed within a site only, so that the permission that was given for a
//! site holds. What the bytes mean is the tool's business.

mod address;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::BytesMut;
use reqwest::header::{ACCEPT, CONTENT_TYPE, HeaderMap, LOCATION};
use reqwest::{Client, Response, Url};

use self::address::{Pins, reach};
use crate::config::used::WebSettings;
use crate::model::http::Http;

/// Redirects within a site that are followed.
const REDIRECTS: usize = 10;
/// What is asked for, best first.
const WANTED: &str =
    "text/markdown, text/html;q=0.9, text/plain;q=0.8, application/json;q=0.8, */*;q=0.5";

/// Fetches pages.
#[derive(Debug)]
pub struct Web {
    settings: WebSettings,
    http: Arc<Http>,
    pins: Arc<Pins>,
    client: OnceLock<Result<Client, String>>,
    /// True if a proxy of the environment stands between: it resolves names itself.
    proxied: bool,
}

/// What an address gave.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Page {
    /// The address that answered, after redirects.
    pub url: String,
    /// HTTP status.
    pub status: u16,
    /// Media type in lower case without parameters, e.g. `text/html`; empty if the server did not say.
    pub mime: String,
    /// The character set that the server named; empty if it did not.
    pub charset: String,
    /// The body, as far as the limit allows.
    pub bytes: Vec<u8>,
    /// True if there was more than that.
    pub cut: bool,
}

/// An answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// Here it is.
    Page(Page),
    /// It has moved to another site; that one needs a permission of its own.
    Moved {
        /// Where to.
        to: String,
    },
}

impl Web {
    /// Nothing is built before the first page is fetched.
    pub fn new(settings: WebSettings, http: Arc<Http>) -> Self {
        let names = [
            "HTTPS_PROXY",
            "https_proxy",
            "HTTP_PROXY",
            "http_proxy",
            "ALL_PROXY",
            "all_proxy",
        ];
        let proxied = names
            .iter()
            .any(|name| std::env::var_os(name).is_some_and(|value| !value.is_empty()));
        Self {
            settings,
            http,
            pins: Arc::default(),
            client: OnceLock::new(),
            proxied,
        }
    }

    /// The address in its full form. The error is a sentence for the model.
    pub fn address(text: &str) -> Result<String, String> {
        parse(text).map(String::from)
    }

    /// Fetches a page. Dropping the future cancels it. The error is a sentence for the model.
    pub async fn get(&self, address: &str) -> Result<Answer, String> {
        let url = parse(address)?;
        let limit = self.settings.timeout;
        tokio::time::timeout(limit, self.follow(url))
            .await
            .unwrap_or_else(|_elapsed| Err(too_slow(address, limit)))
    }

    async fn follow(&self, begin: Url) -> Result<Answer, String> {
        let mut url = begin.clone();
        for _ in 0..=REDIRECTS {
            reach(&url, &self.pins, self.settings.private, self.proxied).await?;
            let sent = self
                .client()?
                .get(url.clone())
                .header(ACCEPT, WANTED)
                .send();
            let response = sent.await.map_err(|error| failed(&url, &error))?;
            let Some(next) = redirect(&url, &response) else {
                return self.page(url, response).await.map(Answer::Page);
            };
            let next = next?;
            if !same_site(&url, &next) {
                return Ok(Answer::Moved { to: next.into() });
            }
            url = next;
        }
        Err(format!(
            "{begin} was not fetched: it redirects more than {REDIRECTS} times. Check the address."
        ))
    }

    async fn page(&self, url: Url, mut response: Response) -> Result<Page, String> {
        let (mime, charset) = content_type(response.headers());
        let most = self.settings.max_bytes as usize;
        let mut bytes = BytesMut::new();
        let mut cut = false;
        while let Some(chunk) = response
            .chunk()
            .await
            .map_err(|error| failed(&url, &error))?
        {
            let room = most - bytes.len();
            bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
            if chunk.len() > room {
                cut = true;
                break;
            }
        }
        Ok(Page {
            status: response.status().as_u16(),
            url: url.into(),
            mime,
            charset,
            bytes: bytes.to_vec(),
            cut,
        })
    }

    fn client(&self) -> Result<&Client, String> {
        let built = self.client.get_or_init(|| {
            self.http
                .for_pages(&self.pins)
                .map_err(|fault| fault.to_string())
        });
        built.as_ref().map_err(Clone::clone)
    }
}

/// An address of the web; a missing scheme is `https`.
fn parse(text: &str) -> Result<Url, String> {
    let text = text.trim();
    let full = if text.contains("://") {
        text.to_owned()
    } else {
        format!("https://{text}")
    };
    let wrong =
        |why: &str| format!("`{text}` was not fetched: {why}. Give a full http(s) address.");
    let mut url =
        Url::parse(&full).map_err(|error| wrong(&format!("it is no address ({error})")))?;
    if !matches!(url.scheme(), "http" | "https") {
        return Err(wrong("only http and https addresses can be fetched"));
    }
    if url.host_str().is_none_or(str::is_empty) {
        return Err(wrong("it names no host"));
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(wrong(
            "addresses with a user name or password are not fetched",
        ));
    }
    // The part after # is for the reader; servers never see it.
    url.set_fragment(None);
    Ok(url)
}

/// Where a redirect leads; none if the answer is none.
fn redirect(url: &Url, response: &Response) -> Option<Result<Url, String>> {
    if !response.status().is_redirection() {
        return None;
    }
    let to = response.headers().get(LOCATION)?.to_str().ok()?;
    Some(
        url.join(to)
            .map_err(|error| format!("{url} redirects to an address that is none ({error})."))
            .and_then(|to| parse(to.as_str())),
    )
}

/// The same host and port, with or without `www.`; `http` may become `https`, not the other way.
fn same_site(from: &Url, to: &Url) -> bool {
    let host = |url: &Url| {
        let host = url.host_str().unwrap_or_default();
        host.strip_prefix("www.").unwrap_or(host).to_owned()
    };
    let upgraded = from.scheme() == "http" && to.scheme() == "https" && from.port().is_none();
    host(from) == host(to)
        && ((from.scheme() == to.scheme() && from.port() == to.port())
            || (upgraded && to.port().is_none()))
}

fn content_type(headers: &HeaderMap) -> (String, String) {
    let value = headers
        .get(CONTENT_TYPE)
        .and_then(|v| v.to_str().ok())
        .unwrap_or_default();
    let mut pieces = value.split(';').map(str::trim);
    let mime = pieces.next().unwrap_or_default().to_ascii_lowercase();
    let charset = pieces.find_map(|piece| {
        let (name, value) = piece.split_once('=')?;
        name.trim()
            .eq_ignore_ascii_case("charset")
            .then(|| value.trim().trim_matches('"').to_owned())
    });
    (mime, charset.unwrap_or_default())
}

fn too_slow(address: &str, limit: Duration) -> String {
    format!(
        "{address} was not fetched: it took longer than {} s (web.timeout). Try again later, or another \
         source.",
        limit.as_secs_f64()
    )
}

fn failed(url: &Url, error: &reqwest::Error) -> String {
    let mut cause: &dyn std::error::Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    let what = if error.is_connect() {
        "the server could not be reached"
    } else {
        "the answer broke off"
    };
    format!("{url} was not fetched: {what} ({cause}). Check the address, or try another source.")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_completed_and_strange_ones_refused() {
        assert_eq!(
            Web::address(" docs.rs/serde#x ").as_deref(),
            Ok("https://docs.rs/serde")
        );
        assert_eq!(
            Web::address("http://a.b:81/c?d=e").as_deref(),
            Ok("http://a.b:81/c?d=e")
        );
        for (text, why) in [
            ("file:///etc/passwd", "only http and https"),
            ("ftp://a.b/c", "only http and https"),
            ("https://user:secret@a.b/", "user name or password"),
            ("https://", "no address"),
            ("http://[::1", "no address"),
        ] {
            let error = Web::address(text).expect_err(text);
            assert!(error.contains(why), "{text}: {error}");
        }
    }

    #[test]
    fn a_site_is_a_host_and_its_port_and_never_becomes_less_secure() {
        let same = |a: &str, b: &str| same_site(&parse(a).expect("fine"), &parse(b).expect("fine"));
        assert!(same("https://a.b/x", "https://a.b/y"));
        assert!(same("https://a.b/x", "https://www.a.b/x"));
        assert!(same("http://a.b/x", "https://a.b/x"));
        assert!(!same("https://a.b/x", "http://a.b/x"));
        assert!(!same("https://a.b/x", "https://a.b:8443/x"));
        assert!(!same("http://a.b:8000/x", "https://a.b/x"));
        assert!(!same("https://a.b/x", "https://evil.a.b/x"));
    }

    #[test]
    fn the_content_type_is_read_with_its_character_set() {
        let read = |value: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(CONTENT_TYPE, value.parse().expect("a header"));
            content_type(&headers)
        };
        let pair = |mime: &str, charset: &str| (mime.to_owned(), charset.to_owned());
        assert_eq!(
            read("Text/HTML; x=y; Charset=\"iso-8859-1\""),
            pair("text/html", "iso-8859-1")
        );
        assert_eq!(read("application/json"), pair("application/json", ""));
    }
}
