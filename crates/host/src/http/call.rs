//! One request, read whole, and its answer.

use std::time::Duration;

use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{FromRequestParts, RawPathParams};
use axum::http::request::Parts;
use axum::http::{HeaderValue, Request, StatusCode, header};
use axum::response::Response;
use creel_api::host::{API_HEADER, API_MAJOR, API_MINOR, MAX_BODY_BYTES};
use serde::Serialize;
use serde::de::DeserializeOwned;

use crate::refusal::Refusal;

/// How long a body may take to come.
const BODY_WITHIN: Duration = Duration::from_secs(10);

/// A request.
#[derive(Debug)]
pub(crate) struct Call {
    parameters: Vec<(String, String)>,
    query: Vec<(String, String)>,
    parts: Parts,
    body: Bytes,
}

impl Call {
    pub(crate) async fn read(request: Request<Body>) -> Result<Self, Refusal> {
        let (mut parts, body) = request.into_parts();
        let read = tokio::time::timeout(BODY_WITHIN, to_bytes(body, MAX_BODY_BYTES)).await;
        let body = match read {
            Ok(Ok(body)) => body,
            Ok(Err(_)) => {
                let message = format!("the body is longer than {MAX_BODY_BYTES} bytes, or cut");
                return Err(Refusal::new(413, "body-too-large", message)
                    .next("send less; the bounds are in docs/openapi.json"));
            }
            Err(_) => {
                let message = format!("no whole body came in {} s", BODY_WITHIN.as_secs());
                return Err(Refusal::new(408, "too-slow", message).next("send it again"));
            }
        };
        let parameters = match RawPathParams::from_request_parts(&mut parts, &()).await {
            Ok(found) => found.iter().map(|(n, v)| (n.to_owned(), v.to_owned())).collect(),
            Err(_) => return Err(Refusal::new(400, "usage", "the path is no text")),
        };
        let query = parts.uri.query().map(pairs).unwrap_or_default();
        Ok(Self { parameters, query, parts, body })
    }

    /// Returns a part of the path; empty when the route has none of that name.
    pub(crate) fn parameter(&self, name: &str) -> &str {
        lookup(&self.parameters, name).unwrap_or_default()
    }

    pub(crate) fn query(&self, name: &str) -> Option<&str> {
        lookup(&self.query, name)
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.parts.headers.get(name)?.to_str().ok()
    }

    /// Parses the body.
    pub(crate) fn json<T: DeserializeOwned>(&self) -> Result<T, Refusal> {
        parse(&self.body)
    }
}

/// Parses a body; the refusal says where it is wrong.
pub(crate) fn parse<T: DeserializeOwned>(body: &[u8]) -> Result<T, Refusal> {
    serde_json::from_slice(body).map_err(|error| {
        let message = format!("the body is not what is wanted here: {error}");
        Refusal::new(400, "bad-body", message).next("see the schema in docs/openapi.json")
    })
}

fn lookup<'a>(pairs: &'a [(String, String)], name: &str) -> Option<&'a str> {
    pairs.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
}

fn pairs(query: &str) -> Vec<(String, String)> {
    let pair = |part: &str| {
        let (name, value) = part.split_once('=').unwrap_or((part, ""));
        (decoded(name), decoded(value))
    };
    query.split('&').filter(|part| !part.is_empty()).map(pair).collect()
}

/// Undoes the percent encoding; what is none stays as it is.
fn decoded(text: &str) -> String {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let code = after
            .get(..2)
            .filter(|_| *first == b'%')
            .and_then(|hex| u8::from_str_radix(std::str::from_utf8(hex).ok()?, 16).ok());
        match (code, *first) {
            (Some(byte), _) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            (None, byte) => {
                bytes.push(if byte == b'+' { b' ' } else { byte });
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Answers with a value.
pub(crate) fn json(value: &impl Serialize) -> Result<Response, Refusal> {
    let text = serde_json::to_vec(value)
        .map_err(|error| Refusal::new(500, "internal", error.to_string()))?;
    Ok(answer(StatusCode::OK, "application/json", Body::from(text)))
}

/// Answers with a body of a type.
pub(crate) fn answer(status: StatusCode, content_type: &'static str, body: Body) -> Response {
    let mut response = Response::new(body);
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    // Nothing of it may end up in a cache, or be taken for something else by a browser.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    if let Ok(version) = HeaderValue::from_str(&format!("{API_MAJOR}.{API_MINOR}")) {
        headers.insert(API_HEADER, version);
    }
    response
}

impl From<Refusal> for Response {
    fn from(refusal: Refusal) -> Self {
        let status =
            StatusCode::from_u16(refusal.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
        let body = serde_json::to_vec(&refusal.view()).unwrap_or_default();
        answer(status, "application/json", Body::from(body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_as_browsers_write_it() {
        let check = |query: &str, expected: &[(&str, &str)]| {
            let found = pairs(query);
            let found: Vec<_> = found.iter().map(|(n, v)| (n.as_str(), v.as_str())).collect();
            assert_eq!(found, expected, "{query}");
        };
        check("", &[]);
        check("all", &[("all", "")]);
        check("a=1&b=%2Fx+y&&c=%zz%", &[("a", "1"), ("b", "/x y"), ("c", "%zz%")]);
        check("a=%ff", &[("a", "\u{fffd}")]);
    }
}
