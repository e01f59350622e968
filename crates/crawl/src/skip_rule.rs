//! Why a URL is not fetched, by the name under which it is reported.

use varve_core::trap::Trap;

/// The rule by which a URL is not fetched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipRule {
    /// It lies outside the scope.
    Scope,
    /// No pattern of `--include` matches.
    Include,
    /// A pattern of `--exclude` matches.
    Exclude(String),
    /// `robots.txt` disallows it; with the line of the file, where one does.
    Robots(Option<usize>),
    /// It looks like one of endlessly many.
    Trap(Trap),
    /// A limit of the run was reached.
    Limit(&'static str),
    /// Its page has more links than are followed from one page.
    LinksPerPage,
    /// Too many redirects led to it.
    Redirects,
    /// Too many sitemaps were read, or too many in a row name each other.
    Sitemaps,
    /// The link or its page has `nofollow`.
    NoFollow,
    /// A group of the plan leaves it out.
    DoNotDownload(String),
    /// An alias of the plan leaves it on the live web.
    External,
    /// `Retry-After` of its host is longer than the run waits.
    RetryAfter,
    /// Its address is one that may not be requested.
    Guard,
    /// The link contains a user name or a password.
    UserInfo,
    /// Redirects lead back to it, and no cookie can change that.
    Loop,
    /// It redirects to a URL that is not a web URL.
    Scheme,
    /// It redirects to a text that is not a URL.
    Broken,
}

impl SkipRule {
    /// The word for what the guard refuses, among failures and among rules.
    pub(crate) const GUARD: &'static str = "guard";
}

impl std::fmt::Display for SkipRule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Scope => f.write_str("scope"),
            Self::Include => f.write_str("include"),
            Self::Exclude(pattern) => write!(f, "exclude:{pattern}"),
            Self::Robots(Some(line)) => write!(f, "robots:line {line}"),
            Self::Robots(None) => f.write_str("robots:unavailable"),
            Self::Trap(trap) => write!(f, "trap:{trap}"),
            Self::Limit(which) => write!(f, "limit:{which}"),
            Self::LinksPerPage => f.write_str("limit:links-per-page"),
            Self::Redirects => f.write_str("redirects"),
            Self::Sitemaps => f.write_str("sitemaps"),
            Self::NoFollow => f.write_str("nofollow"),
            Self::DoNotDownload(group) => write!(f, "plan:do_not_download:{group}"),
            Self::External => f.write_str("plan:external"),
            Self::RetryAfter => f.write_str("retry-after"),
            Self::Guard => f.write_str(Self::GUARD),
            Self::UserInfo => f.write_str("user-info"),
            Self::Loop => f.write_str("redirects:loop"),
            Self::Scheme => f.write_str("redirects:scheme"),
            Self::Broken => f.write_str("redirects:broken"),
        }
    }
}
