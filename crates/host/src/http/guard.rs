//! Who may ask at all. A browser on this machine can reach the loopback port from any page: the
//! token is what it lacks, and a name that was bound to this address doesn't get past the check of
//! `Host`.

use std::net::SocketAddr;

use axum::http::request::Parts;
use axum::http::{HeaderMap, header};
use creel_api::host::{API_HEADER, API_MAJOR};

use crate::refusal::Refusal;
use crate::token::Token;

/// Through which door a request came.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Door {
    /// The Unix socket, whose peers are known by the kernel.
    Socket,
    /// The loopback address.
    Loopback(SocketAddr),
}

/// Refuses who may not ask, before anything of the request but its head is looked at.
pub(crate) fn check(door: Door, token: &Token, parts: &Parts) -> Result<(), Refusal> {
    if let Door::Loopback(address) = door {
        check_host(address, &parts.headers)?;
        check_origin(address, &parts.headers)?;
        check_token(token, &parts.headers)?;
    }
    check_version(&parts.headers)
}

fn check_host(address: SocketAddr, headers: &HeaderMap) -> Result<(), Refusal> {
    let named = single(headers, header::HOST.as_str());
    if named.is_some_and(|host| names_us(address, host)) {
        return Ok(());
    }
    let message = "the Host header does not name this address";
    Err(Refusal::new(403, "bad-host", message).next(format!("use http://{address}")))
}

/// A program sends no origin; a page of ours would send its own.
fn check_origin(address: SocketAddr, headers: &HeaderMap) -> Result<(), Refusal> {
    if !headers.contains_key(header::ORIGIN) {
        return Ok(());
    }
    let origin = single(headers, header::ORIGIN.as_str());
    let host = origin.and_then(|origin| origin.strip_prefix("http://"));
    if host.is_some_and(|host| names_us(address, host)) {
        return Ok(());
    }
    let message = "pages of other origins may not ask";
    Err(Refusal::new(403, "bad-origin", message).next(format!("use http://{address}")))
}

fn names_us(address: SocketAddr, host: &str) -> bool {
    let port = address.port();
    host == address.to_string() || host.eq_ignore_ascii_case(&format!("localhost:{port}"))
}

fn check_token(token: &Token, headers: &HeaderMap) -> Result<(), Refusal> {
    let shown = single(headers, header::AUTHORIZATION.as_str())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim());
    if shown.is_some_and(|shown| token.is(shown)) {
        return Ok(());
    }
    let message = "the request bears no token, or another one";
    Err(Refusal::new(401, "bad-token", message)
        .next("send `Authorization: Bearer TOKEN` with the token in the host's state directory"))
}

fn check_version(headers: &HeaderMap) -> Result<(), Refusal> {
    if !headers.contains_key(API_HEADER) {
        return Ok(());
    }
    let version = single(headers, API_HEADER);
    let major = version.and_then(|text| text.split('.').next()?.parse::<u32>().ok());
    if major == Some(API_MAJOR) {
        return Ok(());
    }
    let shown = version.unwrap_or("none").chars().take(32).collect::<String>();
    let message = format!("the client speaks version '{shown}', this host version {API_MAJOR}");
    Err(Refusal::new(400, "api-version", message)
        .next("creel host stop, then creel host start with the newer of both programs"))
}

/// Returns a header that is there once; two of them are none.
fn single<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (Some(only), None) => only.to_str().ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;

    use super::*;

    fn check_all(headers: &[(&str, &str)], expected: Option<&str>) {
        let dir = tempfile::tempdir().expect("a directory");
        let token = Token::open(dir.path()).expect("a token");
        let secret = std::fs::read_to_string(dir.path().join("token")).expect("a file");
        let mut request = Request::builder();
        for (name, value) in headers {
            request = request.header(*name, value.replace("TOKEN", secret.trim()));
        }
        let (parts, ()) = request.body(()).expect("a request").into_parts();
        let door = Door::Loopback("127.0.0.1:4711".parse().expect("an address"));
        let refused = check(door, &token, &parts).err().map(|refusal| refusal.view().code);
        assert_eq!(refused.as_deref(), expected, "{headers:?}");
        let version = headers.iter().any(|(name, _)| *name == API_HEADER);
        if !version {
            assert!(check(Door::Socket, &token, &parts).is_ok(), "{headers:?}");
        }
    }

    #[test]
    fn only_programs_with_the_token_and_pages_of_our_own_may_ask() {
        let host = ("host", "127.0.0.1:4711");
        let token = ("authorization", "Bearer TOKEN");
        check_all(&[host, token], None);
        check_all(&[("host", "LOCALHOST:4711"), token], None);
        check_all(&[host, token, ("origin", "http://127.0.0.1:4711")], None);
        check_all(&[host, token, (API_HEADER, "1.7")], None);
        check_all(&[token], Some("bad-host"));
        check_all(&[("host", "127.0.0.1"), token], Some("bad-host"));
        check_all(&[("host", "evil.example:4711"), token], Some("bad-host"));
        check_all(&[host, ("host", "evil.example"), token], Some("bad-host"));
        check_all(&[host, token, ("origin", "http://evil.example")], Some("bad-origin"));
        check_all(&[host, token, ("origin", "https://127.0.0.1:4711")], Some("bad-origin"));
        check_all(&[host, token, ("origin", "null")], Some("bad-origin"));
        check_all(&[host], Some("bad-token"));
        check_all(&[host, ("authorization", "TOKEN")], Some("bad-token"));
        check_all(&[host, ("authorization", "Bearer ")], Some("bad-token"));
        check_all(&[host, ("authorization", "Bearer xTOKEN")], Some("bad-token"));
        check_all(&[host, ("authorization", "Basic TOKEN")], Some("bad-token"));
        check_all(&[host, token, token], Some("bad-token"));
        for version in ["2.0", "0", "", "x"] {
            check_all(&[host, token, (API_HEADER, version)], Some("api-version"));
        }
    }
}
