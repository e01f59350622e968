//! Warns about credentials that were not sent: a line without a scheme is for https, and its host
//! was asked over http.

use varve_archive::verbs::capture::NetworkOptions;

use crate::printer::{Printer, visible};

/// Hosts with credentials for https alone, and how they were asked.
pub(in crate::commands) struct UnsentCredentials(Vec<CredentialHost>);

struct CredentialHost {
    /// The host, with the port if the line has one.
    host: String,
    plainly: bool,
    securely: bool,
}

impl CredentialHost {
    fn is_about(&self, authority: &str) -> bool {
        let without_port = || authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        self.host == authority || self.host == without_port()
    }
}

impl UnsentCredentials {
    /// The hosts that have credentials for https only.
    pub(in crate::commands) fn new(reach: &NetworkOptions) -> Self {
        let secrets = reach.secrets();
        let plain: Vec<&str> =
            secrets.iter().filter_map(|secret| secret.origin.strip_prefix("http://")).collect();
        let mut hosts: Vec<&str> =
            secrets.iter().filter_map(|secret| secret.origin.strip_prefix("https://")).collect();
        hosts.sort_unstable();
        hosts.dedup();
        let hosts = hosts.into_iter().filter(|host| !plain.contains(host));
        Self(
            hosts
                .map(|host| CredentialHost { host: host.to_owned(), plainly: false, securely: false })
                .collect(),
        )
    }

    /// Records a request.
    pub(in crate::commands) fn see(&mut self, url: &str) {
        let Some((scheme, rest)) = url.split_once("://") else { return };
        let authority = rest.split(['/', '?']).next().unwrap_or_default();
        for line in self.0.iter_mut().filter(|line| line.is_about(authority)) {
            line.plainly |= scheme == "http";
            line.securely |= scheme == "https";
        }
    }

    /// Prints a hint for each host that was asked over http only.
    pub(in crate::commands) fn tell(&self, printer: &mut Printer) {
        for CredentialHost { host, .. } in self.0.iter().filter(|line| line.plainly && !line.securely) {
            let host = visible(host);
            printer.say(format_args!(
                "hint: the credentials for `{host}` were not sent: they are for https, and the request was http; \
                 a line that begins with `http://{host}` sends them unencrypted"
            ));
        }
    }
}
