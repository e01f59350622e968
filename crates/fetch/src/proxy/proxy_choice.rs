//! Which proxy a request goes through: one for all, or those of the variables that curl uses
//! (`http_proxy`, `no_proxy`).
//!
//! The caller reads the environment. A proxy that the user gave must be valid. A variable may be
//! meant for other programs, so it is an error only when a request would use it.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Proxy, ProxyError};
use crate::error::{FetchError, FetchErrorKind};
use crate::request_target::ServerOrigin;

/// The proxies as the user or the environment names them.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyTexts {
    /// For `http`.
    pub http: Option<ProxyText>,
    /// For `https`.
    pub https: Option<ProxyText>,
    /// Hosts that are reached without a proxy: names with their subdomains, addresses, networks, or
    /// `*`, separated by commas or spaces.
    pub except: Option<String>,
    /// Whether loopback addresses are always reached without a proxy.
    pub except_loopback: bool,
}

/// The text that names one proxy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyText {
    /// The text.
    pub text: String,
    /// The environment variable that it is from; none if the user gave it.
    pub variable: Option<&'static str>,
}

impl ProxyTexts {
    /// One proxy for everything, given by the user.
    pub fn all(url: &str) -> Self {
        let url = Some(ProxyText { text: url.to_owned(), variable: None });
        Self { http: url.clone(), https: url, ..Self::default() }
    }

    /// No proxy, as the user chose.
    pub fn none() -> Self {
        Self::all("")
    }

    /// Whether the user gave them, not the environment.
    pub fn are_given(&self) -> bool {
        self.http.as_ref().is_some_and(|text| text.variable.is_none())
    }
}

/// The proxies of a client, and the hosts that are reached without one.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    http: Option<ProxyChoice>,
    https: Option<ProxyChoice>,
    except: Vec<ProxyException>,
}

/// A proxy, or why the variable that names it cannot be used.
type ProxyChoice = Result<Proxy, String>;

/// Hosts of this machine, as exceptions.
const LOOPBACK_HOSTS: [&str; 3] = ["localhost", "127.0.0.0/8", "::1"];

#[derive(Clone, Debug)]
enum ProxyException {
    Everything,
    /// A name with its subdomains.
    Name(String),
    Network(IpNet),
}

impl Proxies {
    /// Parses the texts. A proxy without a scheme is an HTTP proxy. An invalid one is an error here
    /// only if the user gave it.
    pub fn parse(texts: &ProxyTexts) -> Result<Self, ProxyError> {
        let listed = texts.except.as_deref().unwrap_or_default().split([',', ' ', '\t']);
        let loopback = LOOPBACK_HOSTS.into_iter().filter(|_| texts.except_loopback);
        let except = listed.chain(loopback).filter_map(parse_exception).collect();
        Ok(Self {
            http: parse_choice(texts.http.as_ref())?,
            https: parse_choice(texts.https.as_ref())?,
            except,
        })
    }

    /// The proxy for an origin. An error if a variable names a proxy that is not valid.
    pub(crate) fn for_origin(&self, origin: &ServerOrigin) -> Result<Option<&Proxy>, FetchError> {
        let named = if origin.secure { self.https.as_ref() } else { self.http.as_ref() };
        match named.filter(|_| !self.is_excepted(origin)) {
            None => Ok(None),
            Some(Ok(proxy)) => Ok(Some(proxy)),
            Some(Err(why)) => Err(FetchError::new(FetchErrorKind::Request, why)),
        }
    }

    fn is_excepted(&self, origin: &ServerOrigin) -> bool {
        let host = origin.bare_host().trim_end_matches('.');
        let address: Option<IpAddr> = host.parse().ok();
        let is_excepted = |exception: &ProxyException| match exception {
            ProxyException::Everything => true,
            ProxyException::Network(network) => address.is_some_and(|address| network.contains(&address)),
            ProxyException::Name(name) => {
                let rest = host.strip_suffix(name.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
        };
        self.except.iter().any(is_excepted)
    }

    /// Whether one of them has a login.
    pub fn have_login(&self) -> bool {
        [&self.http, &self.https].into_iter().flatten().flatten().any(|proxy| proxy.login.is_some())
    }

    /// The proxies for records, without credentials; none if there are none.
    pub fn shown(&self) -> Option<String> {
        let shown = |choice: &Option<ProxyChoice>| Some(choice.as_ref()?.as_ref().ok()?.shown());
        match (shown(&self.http), shown(&self.https)) {
            (None, None) => None,
            (Some(http), Some(https)) if http == https => Some(http),
            (http, https) => {
                let named = [("http", http), ("https", https)];
                let named = named
                    .into_iter()
                    .filter_map(|(scheme, proxy)| proxy.map(|proxy| format!("{scheme}={proxy}")));
                Some(named.collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// The proxy that a text names, if it names one.
fn parse_choice(text: Option<&ProxyText>) -> Result<Option<ProxyChoice>, ProxyError> {
    let Some(ProxyText { text, variable }) = text.filter(|text| !text.text.trim().is_empty()) else {
        return Ok(None);
    };
    let text = text.trim();
    let read = match text.contains("://") {
        true => Proxy::parse(text),
        false => Proxy::parse(&format!("http://{text}")),
    };
    match (read, variable) {
        (Ok(proxy), _) => Ok(Some(Ok(proxy))),
        (Err(error), None) => Err(error),
        (Err(error), Some(variable)) => Ok(Some(Err(format!(
            "the variable {variable} is not valid: {error}, or give `--proxy none` to use no proxy"
        )))),
    }
}

/// Parses one word of the exceptions.
fn parse_exception(word: &str) -> Option<ProxyException> {
    let word = word.trim().trim_start_matches('.').trim_end_matches('.').to_ascii_lowercase();
    let bare = word.trim_matches(['[', ']']);
    match word.as_str() {
        "" => None,
        "*" => Some(ProxyException::Everything),
        _ => Some(match (bare.parse::<IpNet>(), bare.parse::<IpAddr>()) {
            (Ok(network), _) => ProxyException::Network(network),
            (_, Ok(address)) => ProxyException::Network(address.into()),
            _ => ProxyException::Name(word),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(texts: &ProxyTexts, secure: bool, host: &str) -> Option<String> {
        let origin = ServerOrigin { secure, host: host.into(), port: 80 };
        Proxies::parse(texts).unwrap().for_origin(&origin).unwrap().map(Proxy::shown)
    }

    fn from_variable(text: &str, variable: &'static str) -> Option<ProxyText> {
        Some(ProxyText { text: text.to_owned(), variable: Some(variable) })
    }

    #[test]
    fn a_variable_is_an_error_when_a_request_uses_it() {
        let texts = ProxyTexts { https: from_variable("socks4://p", "all_proxy"), ..ProxyTexts::default() };
        let texts =
            ProxyTexts { http: from_variable("http://q", "http_proxy"), except_loopback: true, ..texts };
        assert_eq!(chosen(&texts, false, "h").as_deref(), Some("http://q:80"));
        assert_eq!(chosen(&texts, true, "127.0.0.1"), None);
        let proxies = Proxies::parse(&texts).unwrap();
        let error = proxies
            .for_origin(&ServerOrigin { secure: true, host: "h".into(), port: 443 })
            .unwrap_err()
            .to_string();
        for word in ["all_proxy", "socks4://p", "`--proxy none`"] {
            assert!(error.contains(word), "{error}");
        }
        assert_eq!(proxies.shown().as_deref(), Some("http=http://q:80"));
    }

    #[test]
    fn each_scheme_has_its_own_proxy() {
        let texts =
            ProxyTexts { http: from_variable("me:secret@p:3128", "http_proxy"), ..ProxyTexts::default() };
        assert_eq!(chosen(&texts, false, "h").as_deref(), Some("http://p:3128"));
        assert_eq!(chosen(&texts, true, "h"), None);
        let both = ProxyTexts { https: from_variable("socks5://q", "https_proxy"), ..texts };
        assert_eq!(chosen(&both, true, "h").as_deref(), Some("socks5://q:1080"));
        assert_eq!(
            Proxies::parse(&both).unwrap().shown().as_deref(),
            Some("http=http://p:3128 https=socks5://q:1080")
        );
        assert_eq!(
            Proxies::parse(&ProxyTexts::all("http://p")).unwrap().shown().as_deref(),
            Some("http://p:80")
        );
        assert!(Proxies::parse(&ProxyTexts::all("ftp://p")).is_err());
        assert_eq!(Proxies::parse(&ProxyTexts::all(" ")).unwrap().shown(), None);
    }

    #[test]
    fn excepted_hosts_use_no_proxy() {
        let except = Some(".example.com, intranet 10.0.0.0/8,[::1]".to_owned());
        let texts = ProxyTexts { except, ..ProxyTexts::all("http://p") };
        for host in ["example.com", "www.example.com", "intranet", "10.1.2.3", "[::1]"] {
            assert_eq!(chosen(&texts, false, host), None, "{host}");
        }
        for host in ["anexample.com", "example.org", "11.1.2.3", "intranet.org", "localhost"] {
            assert!(chosen(&texts, false, host).is_some(), "{host}");
        }
        let everything = ProxyTexts { except: Some("*".to_owned()), ..ProxyTexts::all("http://p") };
        assert_eq!(chosen(&everything, true, "h"), None);
        let not_here = ProxyTexts { except_loopback: true, ..ProxyTexts::all("http://p") };
        assert_eq!(
            (chosen(&not_here, false, "localhost"), chosen(&not_here, false, "127.0.0.2")),
            (None, None)
        );
    }
}
