//! Rewrites the links of web manifests: the members that the standard says are addresses.

use super::LinkRewriter;
use serde_json::Value;

/// The manifest with other links. `None` if it is no manifest.
pub fn manifest(json: &[u8], links: &LinkRewriter) -> Option<Vec<u8>> {
    let mut manifest: Value = serde_json::from_slice(json).ok()?;
    rewrite(manifest.as_object_mut()?, links);
    serde_json::to_vec(&manifest).ok()
}

fn rewrite(object: &mut serde_json::Map<String, Value>, links: &LinkRewriter) {
    for (name, value) in object {
        match value {
            Value::String(text) if is_address(name) => {
                if let Some(link) = links.leads(text) {
                    *text = link;
                }
            }
            Value::Object(inner) => rewrite(inner, links),
            Value::Array(list) => {
                list.iter_mut().filter_map(Value::as_object_mut).for_each(|inner| rewrite(inner, links));
            }
            _ => {}
        }
    }
}

fn is_address(name: &str) -> bool {
    matches!(name, "start_url" | "scope" | "src" | "url" | "action")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_change_and_names_do_not() {
        let to = |url: &str| format!("/W/{url}");
        let links = LinkRewriter::new("http://h/m.json", to).unwrap();
        let json = br#"{"name":"src","start_url":"/?a","icons":[{"src":"i.png","sizes":"1x1"}],"shortcuts":[{"url":"/s","icons":[{"src":"j"}]}]}"#;
        let text = String::from_utf8(manifest(json, &links).unwrap()).unwrap();
        let expected = r#"{"name":"src","start_url":"/W/http://h/?a","icons":[{"src":"/W/http://h/i.png","sizes":"1x1"}],"shortcuts":[{"url":"/W/http://h/s","icons":[{"src":"/W/http://h/j"}]}]}"#;
        assert_eq!(text, expected);
        assert_eq!(manifest(b"[1]", &links), None);
        assert_eq!(manifest(b"{", &links), None);
    }
}
