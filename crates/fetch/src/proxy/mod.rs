//! Proxies: HTTP (`http://host:3128`) and SOCKS 5 (`socks5://host:1080`).
//!
//! The user names a proxy and trusts it: the guard does not check its address. The proxy resolves
//! names, also with SOCKS, so the guard cannot check the address that it connects to, only the host
//! in the URL, and refuses private names. Proxies that are reached through TLS are not supported.

mod connect;
mod proxy_choice;
mod socks;

pub use proxy_choice::{Proxies, ProxyText, ProxyTexts};

use data_encoding::BASE64;
use tokio::net::TcpStream;
use url::{Host, Url};
use varve_core::secret::{Secret, ShownUrl};

use crate::error::{FetchError, FetchErrorKind};
use crate::request_target::{ServerOrigin, percent_decoded};

/// A proxy that requests of a client go through.
#[derive(Clone, Debug)]
pub(crate) struct Proxy {
    kind: ProxyKind,
    pub(crate) host: String,
    pub(crate) port: u16,
    login: Option<Secret<ProxyLogin>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ProxyKind {
    Http,
    Socks5,
}

#[derive(Clone, Debug)]
struct ProxyLogin {
    name: String,
    password: String,
}

/// A text does not name a proxy.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{shown}` is not a proxy: write `http://HOST:PORT` or `socks5://HOST:PORT`")]
pub struct ProxyError {
    shown: String,
}

impl Proxy {
    /// Parses the URL of a proxy, with a login if it requires one. `socks5h` and `socks`, as
    /// desktops write it, are the same as `socks5`.
    fn parse(text: &str) -> Result<Self, ProxyError> {
        Self::read(text).ok_or_else(|| ProxyError { shown: ShownUrl(text).to_string() })
    }

    fn read(text: &str) -> Option<Self> {
        let url = Url::parse(text).ok()?;
        let (kind, port) = match url.scheme() {
            "http" => (ProxyKind::Http, 80),
            "socks5" | "socks5h" | "socks" => (ProxyKind::Socks5, 1080),
            _ => return None,
        };
        let host = match url.host()? {
            Host::Domain(name) => name.to_owned(),
            Host::Ipv4(address) => address.to_string(),
            Host::Ipv6(address) => address.to_string(),
        };
        let login = (!url.username().is_empty()).then(|| {
            let name = percent_decoded(url.username());
            let password = percent_decoded(url.password().unwrap_or_default());
            Secret::new(ProxyLogin { name, password })
        });
        Some(Self { kind, host, port: url.port().unwrap_or(port), login })
    }

    /// Its URL, without credentials.
    pub(crate) fn shown(&self) -> String {
        let scheme = match self.kind {
            ProxyKind::Http => "http",
            ProxyKind::Socks5 => "socks5",
        };
        match self.host.contains(':') {
            true => format!("{scheme}://[{}]:{}", self.host, self.port),
            false => format!("{scheme}://{}:{}", self.host, self.port),
        }
    }

    /// Whether it is a SOCKS proxy.
    pub(crate) fn is_socks(&self) -> bool {
        self.kind == ProxyKind::Socks5
    }

    /// Whether plain requests are sent to the proxy itself, with the whole URL in them.
    pub(crate) fn takes_whole_urls(&self, origin: &ServerOrigin) -> bool {
        self.kind == ProxyKind::Http && !origin.secure
    }

    /// The value of `Proxy-Authorization`.
    pub(crate) fn authorization(&self) -> Option<String> {
        let login = self.login.as_ref()?.expose();
        Some(format!("Basic {}", BASE64.encode(format!("{}:{}", login.name, login.password).as_bytes())))
    }

    /// Makes the proxy connect to an origin, on a connection to the proxy.
    pub(crate) async fn open_tunnel(
        &self,
        stream: &mut TcpStream,
        origin: &ServerOrigin,
    ) -> Result<(), FetchError> {
        match self.kind {
            ProxyKind::Http if origin.secure => {
                connect::open_tunnel(stream, origin, self.authorization()).await
            }
            ProxyKind::Http => Ok(()),
            ProxyKind::Socks5 => socks::open_tunnel(stream, origin, self.login.as_ref()).await,
        }
    }
}

fn refused(what: impl Into<String>) -> FetchError {
    FetchError::new(FetchErrorKind::Proxy, what)
}

fn broken(error: std::io::Error) -> FetchError {
    refused("the proxy closed the connection").because(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_are_parsed_and_hide_their_password() {
        let proxy = Proxy::parse("http://me:hunter2@[::1]:3128/").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port, proxy.kind), ("::1", 3128, ProxyKind::Http));
        assert_eq!(proxy.authorization().as_deref(), Some("Basic bWU6aHVudGVyMg=="));
        assert!(!format!("{proxy:?}").contains("hunter2"));
        let proxy = Proxy::parse("socks5h://example.com").unwrap();
        assert_eq!((proxy.host.as_str(), proxy.port, proxy.kind), ("example.com", 1080, ProxyKind::Socks5));
        assert_eq!(Proxy::parse("socks://127.0.0.1:1080/").unwrap().shown(), "socks5://127.0.0.1:1080");
        for text in ["", "example.com:80", "https://x/", "socks4://x", "http://a:hunter2@"] {
            let error = Proxy::parse(text).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
        }
    }
}
