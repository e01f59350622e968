//! The modules that a script in a page imports, found without running or parsing it.
//!
//! Knows comments, strings, `import`, `export … from` and `import(…)`. A regular expression with a
//! quote is misread up to the end of its line. Time is linear.

/// Maximum number of imports of one script.
const MAX_SCRIPT_IMPORTS: usize = 100;

/// The addresses of the modules that a script imports, as written. Only modules have `import …
/// from`; all scripts may call `import(…)`.
pub(crate) fn imports(script: &[u8], is_module: bool) -> Vec<String> {
    let mut found = Vec::new();
    let mut state = ImportState::Outside;
    let mut is_member = false;
    for token in (ScriptTokens { text: script, at: 0 }) {
        let is_call = state == ImportState::Called;
        let is_named = matches!(state, ImportState::Import | ImportState::From);
        if let ScriptToken::Text(text) = token
            && (is_call || (is_named && is_module))
            && found.len() < MAX_SCRIPT_IMPORTS
        {
            found.push(String::from_utf8_lossy(text).into_owned());
        }
        state = state.after(token, is_member);
        is_member = token == ScriptToken::Sign(b'.');
    }
    found
}

/// The position in a statement.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ImportState {
    /// Outside of an import.
    Outside,
    /// Behind `import`.
    Import,
    /// Behind `export`.
    Export,
    /// Behind `import (`.
    Called,
    /// Among the names, before `from`.
    Names,
    /// Behind `from`.
    From,
}

impl ImportState {
    fn after(self, token: ScriptToken<'_>, is_member: bool) -> Self {
        let is_name = matches!(
            token,
            ScriptToken::Word(_) | ScriptToken::Text(_) | ScriptToken::Sign(b'{' | b'}' | b'*' | b',')
        );
        match (self, token) {
            (Self::Import, ScriptToken::Sign(b'(')) => Self::Called,
            (Self::Import | Self::From, ScriptToken::Text(_)) => Self::Outside,
            (Self::Names, ScriptToken::Word(b"from")) => Self::From,
            (Self::Export, ScriptToken::Sign(b'{' | b'*')) => Self::Names,
            (Self::Import | Self::Names | Self::From, _) if is_name => Self::Names,
            (_, ScriptToken::Word(b"import")) if !is_member => Self::Import,
            (_, ScriptToken::Word(b"export")) if !is_member => Self::Export,
            _ => Self::Outside,
        }
    }
}

/// A token of a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ScriptToken<'a> {
    Word(&'a [u8]),
    /// The text of a string.
    Text(&'a [u8]),
    Sign(u8),
}

/// Splits a script into tokens.
struct ScriptTokens<'a> {
    text: &'a [u8],
    at: usize,
}

impl<'a> ScriptTokens<'a> {
    fn rest(&self) -> &'a [u8] {
        self.text.get(self.at..).unwrap_or_default()
    }

    /// Skips to behind a mark, or to the end.
    fn skip_behind(&mut self, mark: &[u8]) {
        self.at = memchr::memmem::find(self.rest(), mark)
            .map_or(self.text.len(), |found| self.at + found + mark.len());
    }

    /// The text up to the closing quote, or to the end of the line, except for template strings.
    fn quoted(&mut self, quote: u8) -> &'a [u8] {
        let start = self.at;
        while let Some(&byte) = self.text.get(self.at) {
            match byte {
                b'\\' => self.at += 2,
                b'\n' if quote != b'`' => break,
                _ if byte == quote => break,
                _ => self.at += 1,
            }
        }
        let end = self.at.min(self.text.len());
        self.at = end + 1;
        &self.text[start..end]
    }

    fn word(&mut self) -> &'a [u8] {
        let rest = self.rest();
        let length = rest.iter().position(|byte| !is_letter(*byte)).unwrap_or(rest.len());
        self.at += length;
        &rest[..length]
    }
}

impl<'a> Iterator for ScriptTokens<'a> {
    type Item = ScriptToken<'a>;

    fn next(&mut self) -> Option<ScriptToken<'a>> {
        loop {
            let byte = *self.text.get(self.at)?;
            match byte {
                b'/' if self.rest().starts_with(b"//") => self.skip_behind(b"\n"),
                b'/' if self.rest().starts_with(b"/*") => {
                    self.at += 2;
                    self.skip_behind(b"*/");
                }
                _ if byte.is_ascii_whitespace() => self.at += 1,
                b'"' | b'\'' | b'`' => {
                    self.at += 1;
                    return Some(ScriptToken::Text(self.quoted(byte)));
                }
                _ if is_letter(byte) => return Some(ScriptToken::Word(self.word())),
                _ => {
                    self.at += 1;
                    return Some(ScriptToken::Sign(byte));
                }
            }
        }
    }
}

/// Whether a byte is part of a word.
const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$') || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn found(script: &str) -> Vec<String> {
        imports(script.as_bytes(), true)
    }

    #[test]
    fn every_way_to_import() {
        assert_eq!(found("import a from 'x'; import{b as c,d}from\"y\"\nimport 'z'"), ["x", "y", "z"]);
        assert_eq!(
            found("import * as n from 'x'; import from from 'y'; import {from} from 'z'"),
            ["x", "y", "z"]
        );
        assert_eq!(found("export * from 'x'; export {a} from 'y'; export const b = 'no'"), ["x", "y"]);
        assert_eq!(found("await import('x').then(import(`y`))"), ["x", "y"]);
        assert_eq!(imports(b"import a from 'no'; import('yes')", false), ["yes"]);
    }

    #[test]
    fn what_only_looks_like_it() {
        for script in [
            "// import a from 'x'\n",
            "/* import a from 'x' */",
            "\"import a from 'x'\"",
            "a.import('x'); import.meta.url + 'x'",
            "imports from 'x'; f(import) 'x'",
            "'\\'; import \"x",
        ] {
            assert_eq!(found(script), [""; 0], "{script}");
        }
    }

    proptest! {
        #[test]
        fn no_script_breaks_it(script in "(import|export|from|[ (){}*,;.\"'`/\\\\\nx]){0,60}") {
            found(&script);
        }
    }
}
