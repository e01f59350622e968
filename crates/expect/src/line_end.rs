//! How the lines of a domain file end: a file keeps the line ends it has.

/// How lines end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum LineEnd {
    /// As on Unix.
    #[default]
    Lf,
    /// As on Windows.
    CrLf,
}

impl LineEnd {
    /// That of the first line.
    pub(crate) fn of(text: &str) -> Self {
        match text.find('\n') {
            Some(at) if text[..at].ends_with('\r') => Self::CrLf,
            _ => Self::Lf,
        }
    }
}
