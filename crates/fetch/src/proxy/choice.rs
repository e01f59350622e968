//! Which proxy a request goes through: one for all, or as the variables say that curl and others know (`http_proxy`, `no_proxy`).
//!
//! Reads no environment itself: whoever does hands the texts over.

use std::net::IpAddr;

use ipnet::IpNet;

use super::{Proxy, ProxyError};
use crate::target::Origin;

/// What proxies are named by, as texts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProxyTexts {
    /// For `http`.
    pub http: Option<String>,
    /// For `https`.
    pub https: Option<String>,
    /// Hosts that are asked without one: names with all below them, addresses, networks, or `*`, divided by commas or spaces.
    pub except: Option<String>,
    /// Whether this machine is asked without one, whatever the exceptions say.
    pub never_here: bool,
}

impl ProxyTexts {
    /// One proxy for everything.
    pub fn all(url: &str) -> Self {
        let url = Some(url.to_owned());
        Self { http: url.clone(), https: url, ..Self::default() }
    }
}

/// The proxies of a client, and who is asked without one.
#[derive(Clone, Debug, Default)]
pub struct Proxies {
    http: Option<Proxy>,
    https: Option<Proxy>,
    except: Vec<Exception>,
}

#[derive(Clone, Debug)]
enum Exception {
    Everything,
    Here,
    /// A name, and all below it.
    Name(String),
    Network(IpNet),
}

impl Proxies {
    /// Reads what names them. A proxy without a scheme is one of HTTP.
    pub fn read(texts: &ProxyTexts) -> Result<Self, ProxyError> {
        let proxy = |text: &Option<String>| {
            let text = text.as_deref().map(str::trim).filter(|text| !text.is_empty());
            text.map(|text| match text.contains("://") {
                true => Proxy::parse(text),
                false => Proxy::parse(&format!("http://{text}")),
            })
            .transpose()
        };
        let listed = texts.except.as_deref().unwrap_or_default().split([',', ' ', '\t']);
        let mut except: Vec<Exception> = listed.filter_map(exception).collect();
        except.extend(texts.never_here.then_some(Exception::Here));
        Ok(Self { http: proxy(&texts.http)?, https: proxy(&texts.https)?, except })
    }

    /// The proxy that an origin is asked through.
    pub(crate) fn for_origin(&self, origin: &Origin) -> Option<&Proxy> {
        let proxy = if origin.secure { self.https.as_ref() } else { self.http.as_ref() }?;
        let host = origin.bare_host().trim_end_matches('.');
        let address: Option<IpAddr> = host.parse().ok();
        let is_excepted = |exception: &Exception| match exception {
            Exception::Everything => true,
            Exception::Here => host == "localhost" || address.is_some_and(|address| address.is_loopback()),
            Exception::Network(network) => address.is_some_and(|address| network.contains(&address)),
            Exception::Name(name) => {
                let rest = host.strip_suffix(name.as_str());
                rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
            }
        };
        (!self.except.iter().any(is_excepted)).then_some(proxy)
    }

    /// Where requests go through, for records and without credentials; none if they go nowhere.
    pub fn shown(&self) -> Option<String> {
        match (&self.http, &self.https) {
            (None, None) => None,
            (Some(http), Some(https)) if http.shown() == https.shown() => Some(http.shown()),
            (http, https) => {
                let named = [("http", http), ("https", https)];
                let named = named.into_iter().filter_map(|(scheme, proxy)| {
                    proxy.as_ref().map(|proxy| format!("{scheme}={}", proxy.shown()))
                });
                Some(named.collect::<Vec<_>>().join(" "))
            }
        }
    }
}

/// What one word of the exceptions means.
fn exception(word: &str) -> Option<Exception> {
    let word = word.trim().trim_start_matches('.').trim_end_matches('.').to_ascii_lowercase();
    let bare = word.trim_matches(['[', ']']);
    match word.as_str() {
        "" => None,
        "*" => Some(Exception::Everything),
        _ => Some(match (bare.parse::<IpNet>(), bare.parse::<IpAddr>()) {
            (Ok(network), _) => Exception::Network(network),
            (_, Ok(address)) => Exception::Network(address.into()),
            _ => Exception::Name(word),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(texts: &ProxyTexts, secure: bool, host: &str) -> Option<String> {
        let origin = Origin { secure, host: host.into(), port: 80 };
        Proxies::read(texts).unwrap().for_origin(&origin).map(Proxy::shown)
    }

    #[test]
    fn each_scheme_has_its_own() {
        let texts = ProxyTexts { http: Some("me:secret@p:3128".to_owned()), ..ProxyTexts::default() };
        assert_eq!(chosen(&texts, false, "h").as_deref(), Some("http://p:3128"));
        assert_eq!(chosen(&texts, true, "h"), None);
        let both = ProxyTexts { https: Some("socks5://q".to_owned()), ..texts };
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
