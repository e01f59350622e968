//! YAML for files that users edit and version control compares: parsed with the position of every
//! key, written in one form.
//!
//! The form is that of Python's PyYAML, `dump_all(explicit_start=True, sort_keys=True)` at its default
//! width. Other programs rewrite the databases that varve shares with them, and a file whose spelling
//! changes with each program cannot be reviewed. So plain words get types by the rules of YAML 1.1
//! (`yes` is true, `1e3` is a text), numbers and dates are written as Python writes them, and values
//! that an anchor shares stay shared.
//!
//! A value of an unknown type keeps its tag and its text. Layout and comments are lost;
//! [`comments()`] returns their lines, so that a caller can warn. `libyaml-safer` scans the text. Serde
//! is not used, because it would lose types that it cannot name.
//!
//! This crate does not know the meaning of any key.

mod comments;
mod emit;
mod error;
mod number;
mod order;
mod parse;
mod resolve;
mod scannable;
mod timestamp;
mod value;

pub use comments::comments;
pub use emit::emit;
pub use error::{Place, YamlError};
pub use parse::{Document, MAX_TEXT_BYTES, RepeatedKey, parse};
pub use value::{Entry, Kind, Mapping, Scalar, Sequence, Value};

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn again(text: &str) -> Option<String> {
        let documents = parse(text).ok()?;
        Some(emit(documents.iter().map(|document| &document.value)))
    }

    #[test]
    fn foreign_types_keep_their_names() {
        let text =
            "---\na: !thing 'x'\nb: !<tag:example.com,2000:%C3%A9> 'y'\nc: !list\n- 1\nd: !!set\n  k: null\n";
        assert_eq!(again(text).as_deref(), Some(text));
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_as_the_same(
            text in "([-?:,&*!|>'\"%@`~=<#{}\\[\\]a-c0-2.]{1,4}[ \n]{0,3}){0,14}"
        ) {
            if let Some(once) = again(&text) {
                prop_assert_eq!(again(&once), Some(once.clone()), "{:?}", text);
            }
        }

        #[test]
        fn no_text_panics(text in any::<String>()) {
            let _ = parse(&text);
            comments(&text);
        }
    }
}
