//! A bucket of an S3-compatible store, over HTTP with requests that are signed (AWS Signature, version 4).
//!
//! ```text
//! s3://BUCKET/PREFIX ─▶ AWS_ENDPOINT_URL/BUCKET/PREFIX/OBJECT      or https://s3.REGION.amazonaws.com/BUCKET/…
//! ```
//! Keys come from the environment of who asks, and stand in no message. An object appears whole, as S3 promises.

use std::fmt::Write as _;
use std::time::Duration;

use hmac::{Hmac, Mac};
use repr::datetime::{Zone, format_timestamptz};
use sha2::{Digest, Sha256};
use ureq::Agent;
use ureq::http::{Request, Response};

use crate::backup::fault::BackupFault;
use crate::backup::target::{Target, TargetError};

/// How often a request is made that fails by no fault of its own.
const ATTEMPTS_MAX: u32 = 3;
const PAUSE: Duration = Duration::from_millis(300);
const CONNECTS_WITHIN: Duration = Duration::from_secs(5);
/// A large object over a slow line takes long.
const ANSWERS_WITHIN: Duration = Duration::from_mins(5);
const BODY_BYTES_MAX: u64 = 8 << 30;

/// See the module.
pub(super) struct Bucket {
    name: String,
    endpoint: String,
    host: String,
    /// With slashes around it.
    path: String,
    prefix: String,
    login: Login,
    agent: Agent,
    now_us: fn() -> i64,
}

struct Login {
    region: String,
    key: String,
    secret: String,
    token: Option<String>,
}

/// An answer that is no error.
struct StoreAnswer {
    status: u16,
    body: Vec<u8>,
}

impl Bucket {
    /// A bucket as an operator writes it, what stands behind "s3://".
    pub(super) fn open(
        given: &str,
        place: &str,
        variable: &dyn Fn(&str) -> Option<String>,
        now_us: fn() -> i64,
    ) -> Result<Bucket, BackupFault> {
        let refuse = |what| BackupFault::NoTarget { given: given.to_owned(), what };
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        let is_plain =
            |letter: char| letter.is_ascii_lowercase() || letter.is_ascii_digit() || matches!(letter, '-' | '.');
        if bucket.is_empty() || !bucket.chars().all(is_plain) {
            return Err(refuse("it names no bucket"));
        }
        let region = variable("AWS_REGION").or_else(|| variable("AWS_DEFAULT_REGION"));
        let region = region.unwrap_or_else(|| "us-east-1".to_owned());
        let login = Login {
            key: variable("AWS_ACCESS_KEY_ID").ok_or_else(|| refuse("AWS_ACCESS_KEY_ID is not set"))?,
            secret: variable("AWS_SECRET_ACCESS_KEY").ok_or_else(|| refuse("AWS_SECRET_ACCESS_KEY is not set"))?,
            token: variable("AWS_SESSION_TOKEN"),
            region,
        };
        let endpoint = variable("AWS_ENDPOINT_URL");
        let endpoint = endpoint.unwrap_or_else(|| format!("https://s3.{}.amazonaws.com", login.region));
        let endpoint = endpoint.trim_end_matches('/').to_owned();
        let rest = endpoint.strip_prefix("https://").or_else(|| endpoint.strip_prefix("http://"));
        let host = rest.ok_or_else(|| refuse("AWS_ENDPOINT_URL begins with neither https:// nor http://"))?.to_owned();
        if host.is_empty() || host.contains('/') {
            return Err(refuse("AWS_ENDPOINT_URL is more than a host and a port"));
        }
        let prefix = prefix.trim_matches('/');
        let prefix = if prefix.is_empty() { String::new() } else { format!("{prefix}/") };
        let config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(CONNECTS_WITHIN))
            .timeout_global(Some(ANSWERS_WITHIN));
        Ok(Bucket {
            name: given.trim_end_matches('/').to_owned(),
            endpoint,
            host,
            path: format!("/{bucket}"),
            prefix,
            login,
            agent: config.build().into(),
            now_us,
        })
    }

    fn failed(&self, tried: &'static str, object: &str, reason: String) -> TargetError {
        TargetError { target: self.name.clone(), tried, object: object.to_owned(), reason }
    }

    /// Makes a request; what fails on the way, or at the store, is tried again.
    fn ask(&self, method: &str, path: &str, query: &[(&str, &str)], body: &[u8]) -> Result<StoreAnswer, String> {
        let mut attempt = 1;
        loop {
            let answer = self.ask_once(method, path, query, body);
            let is_passing = match &answer {
                Ok(answer) => answer.status >= 500 || answer.status == 429,
                Err(_) => true,
            };
            if !is_passing || attempt == ATTEMPTS_MAX {
                let answer = answer?;
                return if answer.status >= 300 && answer.status != 404 { Err(refusal(&answer)) } else { Ok(answer) };
            }
            std::thread::sleep(PAUSE * attempt);
            attempt += 1;
        }
    }

    fn ask_once(&self, method: &str, path: &str, query: &[(&str, &str)], body: &[u8]) -> Result<StoreAnswer, String> {
        let path = encoded(&format!("{}{path}", self.path), true);
        let mut pairs: Vec<String> =
            query.iter().map(|(name, value)| format!("{}={}", encoded(name, false), encoded(value, false))).collect();
        pairs.sort();
        let query = pairs.join("&");
        let signed = self.signed(method, &path, &query, body);
        let mark = if query.is_empty() { "" } else { "?" };
        let mut request = Request::builder().method(method).uri(format!("{}{path}{mark}{query}", self.endpoint));
        for (name, value) in &signed {
            request = request.header(*name, value);
        }
        let sent = match method {
            "PUT" => request.body(body).map_err(|error| error.to_string()).map(|request| self.agent.run(request)),
            _ => request.body(()).map_err(|error| error.to_string()).map(|request| self.agent.run(request)),
        };
        let response: Response<ureq::Body> = sent?.map_err(|error| error.to_string())?;
        let status = response.status().as_u16();
        let mut body = response.into_body();
        let read = body.with_config().limit(BODY_BYTES_MAX).read_to_vec();
        Ok(StoreAnswer { status, body: read.map_err(|error| error.to_string())? })
    }

    /// A request's headers, its signature among them.
    fn signed(&self, method: &str, path: &str, query: &str, body: &[u8]) -> Vec<(&'static str, String)> {
        let Login { region, key, secret, token } = &self.login;
        let moment = moment((self.now_us)());
        let day = &moment[..8];
        let content = hex(&Sha256::digest(body));
        let mut headers = vec![
            ("host", self.host.clone()),
            ("x-amz-content-sha256", content.clone()),
            ("x-amz-date", moment.clone()),
        ];
        headers.extend(token.clone().map(|token| ("x-amz-security-token", token)));
        let names: Vec<&str> = headers.iter().map(|(name, _)| *name).collect();
        let names = names.join(";");
        let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let canonical = format!("{method}\n{path}\n{query}\n{lines}\n{names}\n{content}");
        let scope = format!("{day}/{region}/s3/aws4_request");
        let to_sign = format!("AWS4-HMAC-SHA256\n{moment}\n{scope}\n{}", hex(&Sha256::digest(canonical.as_bytes())));
        let signature = hex(&signature(secret, [day, region, "s3", "aws4_request"], &to_sign));
        let login = format!("AWS4-HMAC-SHA256 Credential={key}/{scope}, SignedHeaders={names}, Signature={signature}");
        headers.push(("authorization", login));
        headers
    }
}

fn signature(secret: &str, scope: [&str; 4], to_sign: &str) -> Vec<u8> {
    let first = format!("AWS4{secret}").into_bytes();
    let key = scope.iter().fold(first, |key, part| keyed(&key, part.as_bytes()));
    keyed(&key, to_sign.as_bytes())
}

fn keyed(key: &[u8], bytes: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(bytes);
    mac.finalize().into_bytes().to_vec()
}

fn hex(bytes: &[u8]) -> String {
    crate::crypto::hex::encode(bytes)
}

/// As a request is dated: 20261127T225920Z.
fn moment(now_us: i64) -> String {
    let text = format_timestamptz(now_us / 1_000_000 * 1_000_000, &Zone::utc());
    let digits: String = text.chars().take(19).filter(char::is_ascii_digit).collect();
    format!("{}T{}Z", &digits[..8], &digits[8..])
}

/// As a path or query has it: all but letters, digits and four marks as hexadecimal digits.
fn encoded(text: &str, keeps_slashes: bool) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        let is_kept = byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b'~');
        if is_kept || keeps_slashes && byte == b'/' {
            encoded.push(char::from(byte));
        } else {
            write!(encoded, "%{byte:02X}").expect("writing to a string does not fail");
        }
    }
    encoded
}

/// What a store says of a request that it refuses.
fn refusal(answer: &StoreAnswer) -> String {
    let body = String::from_utf8_lossy(&answer.body);
    let said = |tag| between(&body, tag).unwrap_or_default();
    format!("{} {} {}", answer.status, said("Code"), said("Message")).trim_end().to_owned()
}

/// What stands in the first element of this name.
fn between<'a>(text: &'a str, tag: &str) -> Option<&'a str> {
    let (_, rest) = text.split_once(&format!("<{tag}>"))?;
    rest.split_once(&format!("</{tag}>")).map(|(inner, _)| inner)
}

fn unescaped(text: &str) -> String {
    text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&apos;", "'").replace("&amp;", "&")
}

impl Target for Bucket {
    fn name(&self) -> &str {
        &self.name
    }

    fn put(&self, object: &str, bytes: &[u8]) -> Result<(), TargetError> {
        let path = format!("/{}{object}", self.prefix);
        match self.ask("PUT", &path, &[], bytes) {
            Ok(answer) if answer.status == 404 => Err(self.failed("write", object, refusal(&answer))),
            Ok(_) => Ok(()),
            Err(reason) => Err(self.failed("write", object, reason)),
        }
    }

    fn get(&self, object: &str) -> Result<Option<Vec<u8>>, TargetError> {
        let path = format!("/{}{object}", self.prefix);
        match self.ask("GET", &path, &[], &[]) {
            Ok(answer) if answer.status == 404 && !refusal(&answer).contains("NoSuchBucket") => Ok(None),
            Ok(answer) if answer.status == 404 => Err(self.failed("read", object, refusal(&answer))),
            Ok(answer) => Ok(Some(answer.body)),
            Err(reason) => Err(self.failed("read", object, reason)),
        }
    }

    fn list(&self, prefix: &str) -> Result<Vec<(String, u64)>, TargetError> {
        let under = format!("{}{prefix}", self.prefix);
        let mut found = Vec::new();
        let mut next: Option<String> = None;
        loop {
            let mut query = vec![("list-type", "2"), ("prefix", under.as_str())];
            query.extend(next.as_deref().map(|token| ("continuation-token", token)));
            let answer = self.ask("GET", "", &query, &[]).map_err(|reason| self.failed("list", prefix, reason))?;
            if answer.status == 404 {
                return Err(self.failed("list", prefix, refusal(&answer)));
            }
            let body = String::from_utf8_lossy(&answer.body);
            for entry in body.split("<Contents>").skip(1) {
                let key = between(entry, "Key").map(unescaped);
                let size = between(entry, "Size").and_then(|size| size.parse().ok());
                let object = key.as_deref().and_then(|key| key.strip_prefix(&self.prefix));
                match (object, size) {
                    (Some(object), Some(size)) => found.push((object.to_owned(), size)),
                    _ => return Err(self.failed("list", prefix, "its list is not understood".to_owned())),
                }
            }
            next = between(&body, "NextContinuationToken").map(unescaped);
            if next.is_none() {
                found.sort();
                return Ok(found);
            }
        }
    }

    fn remove(&self, object: &str) -> Result<(), TargetError> {
        let path = format!("/{}{object}", self.prefix);
        let removed = self.ask("DELETE", &path, &[], &[]);
        removed.map(|_| ()).map_err(|reason| self.failed("remove", object, reason))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_dated() {
        assert_eq!(moment(0), "20000101T000000Z");
        assert_eq!(moment(86_400_999_999), "20000102T000000Z");
    }

    #[test]
    fn a_key_for_signatures_is_amazons() {
        // The example of "Deriving a signing key" in Amazon's reference.
        let first = b"AWS4wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY".to_vec();
        let parts = ["20150830", "us-east-1", "iam", "aws4_request"];
        let key = parts.iter().fold(first, |key, part| keyed(&key, part.as_bytes()));
        assert_eq!(hex(&key), "c4afb1cc5771d871763a393e44b703571b55cc28424d1a5e86da6ed3c154a4b9");
    }

    #[test]
    fn names_are_encoded() {
        assert_eq!(encoded("a b/ü=~", true), "a%20b/%C3%BC%3D~");
        assert_eq!(encoded("a/b", false), "a%2Fb");
        assert_eq!(between("<Code>NoSuchKey</Code>", "Code"), Some("NoSuchKey"));
    }
}
