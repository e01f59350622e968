//! Which proxy a request goes through: one for all, or as the variables say that curl and others
//! know (`http_proxy`, `no_proxy`).
//!
//! The caller reads the environment. A proxy that the user gave must be valid. A variable may be
//! meant for other programs, so it is an error only when a request would use it.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Proxy, ProxyError};
use crate::error::{FetchError, FetchErrorKind};
use crate::request_target::ServerOrigin;

/// What proxies are named by, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyTexts {
    /// For `http`.
    pub http: Option<ProxyText>,
    /// For `https`.
    pub https: Option<ProxyText>,
    /// Hosts that are asked without one: names with all below them, addresses, networks, or `*`,
    /// divided by commas or spaces.
    pub except: Option<String>,
    /// Whether loopback addresses are always reached without a proxy.
    pub never_here: bool,
}

/// What one proxy is named by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProxyText {
    /// The text.
    pub text: String,
    /// The variable that has it; none if somebody gave it.
    pub variable: Option<&'static str>,
}

impl ProxyTexts {
    /// One proxy for everything, that somebody gave.
    pub fn all(url: &str) -> Self {
        let url = Some(ProxyText { text: url.to_owned(), variable: None });
        Self { http: url.clone(), https: url, ..Self::default() }
    }

    /// No proxy at all, as somebody said.
    pub fn nothing() -> Self {
        Self::all("")
    }

    /// Whether somebody said it, and not the environment.
    pub fn are_given(&self) -> bool {
        self.http.as_ref().is_some_and(|text| text.variable.is_none())
    }
}

/// The proxies of a client, and who is asked without one.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    http: Option<ProxyChoice>,
    https: Option<ProxyChoice>,
    except: Vec<ProxyException>,
}

/// What a text names.
#[derive(Clone, Debug)]
enum ProxyChoice {
    Proxy(Proxy),
    /// No proxy that is known, and the sentence that says so.
    Nothing(String),
}

impl ProxyChoice {
    fn proxy(&self) -> Option<&Proxy> {
        match self {
            Self::Proxy(proxy) => Some(proxy),
            Self::Nothing(_) => None,
        }
    }
}

#[derive(Clone, Debug)]
enum ProxyException {
    Everything,
    Here,
    /// A name, and all below it.
    Name(String),
    Network(IpNet),
}

impl Proxies {
    /// Reads what names them. A proxy without a scheme is one of HTTP. Only what somebody gave is
    /// an error here.
    pub fn read(texts: &ProxyTexts) -> Result<Self, ProxyError> {
        let listed = texts.except.as_deref().unwrap_or_default().split([',', ' ', '\t']);
        let mut except: Vec<ProxyException> = listed.filter_map(exception).collect();
        except.extend(texts.never_here.then_some(ProxyException::Here));
        Ok(Self { http: named(texts.http.as_ref())?, https: named(texts.https.as_ref())?, except })
    }

    /// The proxy that an origin is asked through. Where a variable names none that is known, nobody
    /// can tell where the request should go.
    pub(crate) fn for_origin(&self, origin: &ServerOrigin) -> Result<Option<&Proxy>, FetchError> {
        let named = if origin.secure { self.https.as_ref() } else { self.http.as_ref() };
        match named.filter(|_| !self.is_excepted(origin)) {
            None => Ok(None),
            Some(ProxyChoice::Proxy(proxy)) => Ok(Some(proxy)),
            Some(ProxyChoice::Nothing(why)) => Err(FetchError::new(FetchErrorKind::Request, why)),
        }
    }

    fn is_excepted(&self, origin: &ServerOrigin) -> bool {
        let host = origin.bare_host().trim_end_matches('.');
        let address: Option<IpAddr> = host.parse().ok();
        let is_excepted = |exception: &ProxyException| match exception {
            ProxyException::Everything => true,
            ProxyException::Here => {
                host == "localhost" || address.is_some_and(|address| address.is_loopback())
            }
            ProxyException::Network(network) => address.is_some_and(|address| network.contains(&address)),
            ProxyException::Name(name) => {
                let rest = host.strip_suffix(name.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
        };
        self.except.iter().any(is_excepted)
    }

    /// Whether one of them wants a name or a password.
    pub fn have_login(&self) -> bool {
        [&self.http, &self.https].into_iter().flatten().filter_map(ProxyChoice::proxy).any(Proxy::has_login)
    }

    /// Where requests go through, for records and without credentials; none if they go nowhere.
    pub fn shown(&self) -> Option<String> {
        let proxy =
            |named: &'_ Option<ProxyChoice>| named.as_ref().and_then(ProxyChoice::proxy).map(Proxy::shown);
        match (proxy(&self.http), proxy(&self.https)) {
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

/// What a text names, if there is one.
fn named(text: Option<&ProxyText>) -> Result<Option<ProxyChoice>, ProxyError> {
    let Some(ProxyText { text, variable }) = text.filter(|text| !text.text.trim().is_empty()) else {
        return Ok(None);
    };
    let text = text.trim();
    let read = match text.contains("://") {
        true => Proxy::parse(text),
        false => Proxy::parse(&format!("http://{text}")),
    };
    match (read, variable) {
        (Ok(proxy), _) => Ok(Some(ProxyChoice::Proxy(proxy))),
        (Err(error), None) => Err(error),
        (Err(error), Some(variable)) => Ok(Some(ProxyChoice::Nothing(format!(
            "the variable {variable} cannot be followed: {error}, or give `--proxy none` to ask without one"
        )))),
    }
}

/// What one word of the exceptions means.
fn exception(word: &str) -> Option<ProxyException> {
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
        Proxies::read(texts).unwrap().for_origin(&origin).unwrap().map(Proxy::shown)
    }

    fn said(text: &str, variable: &'static str) -> Option<ProxyText> {
        Some(ProxyText { text: text.to_owned(), variable: Some(variable) })
    }

    /// A variable may be meant for others: it stands in the way only of what would go through it.
    #[test]
    fn a_variable_is_judged_when_it_is_needed() {
        let texts = ProxyTexts { https: said("socks4://p", "all_proxy"), ..ProxyTexts::default() };
        let texts = ProxyTexts { http: said("http://q", "http_proxy"), never_here: true, ..texts };
        assert_eq!(chosen(&texts, false, "h").as_deref(), Some("http://q:80"));
        assert_eq!(chosen(&texts, true, "127.0.0.1"), None);
        let proxies = Proxies::read(&texts).unwrap();
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
    fn each_scheme_has_its_own() {
        let texts = ProxyTexts { http: said("me:secret@p:3128", "http_proxy"), ..ProxyTexts::default() };
        assert_eq!(chosen(&texts, false, "h").as_deref(), Some("http://p:3128"));
        assert_eq!(chosen(&texts, true, "h"), None);
        let both = ProxyTexts { https: said("socks5://q", "https_proxy"), ..texts };
        assert_eq!(chosen(&both, true, "h").as_deref(), Some("socks5://q:1080"));
        assert_eq!(
            Proxies::read(&both).unwrap().shown().as_deref(),
            Some("http=http://p:3128 https=socks5://q:1080")
        );
        assert_eq!(
            Proxies::read(&ProxyTexts::all("http://p")).unwrap().shown().as_deref(),
            Some("http://p:80")
        );
        assert!(Proxies::read(&ProxyTexts::all("ftp://p")).is_err());
        assert_eq!(Proxies::read(&ProxyTexts::all(" ")).unwrap().shown(), None);
    }

    #[test]
    fn some_are_asked_without_one() {
        let except = Some(".example.com, intranet 10.0.0.0/8,[::1]".to_owned());
        let texts = ProxyTexts { except, ..ProxyTexts::all("http://p") };
        for host in ["example.com", "www.example.com", "intranet", "10.1.2.3", "[::1]"] {
            assert_eq!(chosen(&texts, false, host), None, "{host}");
        }
        for host in ["anexample.com", "example.org", "11.1.2.3", "intranet.org", "localhost"] {
            assert!(chosen(&texts, false, host).is_some(), "{host}");
        }
        let nobody = ProxyTexts { except: Some("*".to_owned()), ..ProxyTexts::all("http://p") };
        assert_eq!(chosen(&nobody, true, "h"), None);
        let not_here = ProxyTexts { never_here: true, ..ProxyTexts::all("http://p") };
        assert_eq!(
            (chosen(&not_here, false, "localhost"), chosen(&not_here, false, "127.0.0.2")),
            (None, None)
        );
    }
}
