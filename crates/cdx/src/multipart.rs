//! The fields of a `multipart/form-data` body.

/// The `boundary` parameter of a media type.
pub(crate) fn boundary_of(content_type: &str) -> Option<&str> {
    let (_, value) = content_type.split_once("boundary=")?;
    let value = match value.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => value.split(';').next().map(str::trim_end),
    };
    value.filter(|value| !value.is_empty())
}

/// Names and contents of the fields, in order. Parts without a name are left out.
pub(crate) fn multipart_fields(body: &[u8], boundary: &str) -> Vec<(String, Vec<u8>)> {
    let delimiter = format!("--{boundary}");
    let mut fields = Vec::new();
    let mut rest = find(body, delimiter.as_bytes()).map(|at| &body[at + delimiter.len()..]);
    while let Some(behind) = rest {
        if behind.starts_with(b"--") {
            break;
        }
        let end = find(behind, delimiter.as_bytes());
        let part = &behind[..end.unwrap_or(behind.len())];
        fields.extend(field(part));
        rest = end.map(|end| &behind[end + delimiter.len()..]);
    }
    fields
}

/// A part between two delimiters: head, empty line, content, line end.
fn field(part: &[u8]) -> Option<(String, Vec<u8>)> {
    let part = part.strip_prefix(b"\r\n").or_else(|| part.strip_prefix(b"\n")).unwrap_or(part);
    let (head, content) = match find(part, b"\r\n\r\n") {
        Some(at) => (&part[..at], &part[at + 4..]),
        None => find(part, b"\n\n").map(|at| (&part[..at], &part[at + 2..]))?,
    };
    let content = content.strip_suffix(b"\r\n").or_else(|| content.strip_suffix(b"\n")).unwrap_or(content);
    let head = String::from_utf8_lossy(head);
    let disposition = head
        .lines()
        .find(|line| line.get(..20).is_some_and(|name| name.eq_ignore_ascii_case("content-disposition:")))?;
    Some((parameter(disposition, "name")?, content.to_vec()))
}

/// A parameter of a header line.
fn parameter(line: &str, wanted: &str) -> Option<String> {
    line.split(';').skip(1).find_map(|parameter| {
        let (name, value) = parameter.split_once('=')?;
        let value = value.trim();
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"')).unwrap_or(value);
        (name.trim().eq_ignore_ascii_case(wanted)).then(|| value.to_owned())
    })
}

fn find(bytes: &[u8], wanted: &[u8]) -> Option<usize> {
    bytes.windows(wanted.len()).position(|window| window == wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_and_files_are_read() {
        let body = b"preamble--x\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\none\r\ntwo\r\n--x\r\n\
            content-type: image/png\r\ncontent-disposition: form-data; name=file; filename=\"f.png\"\r\n\r\n\x89PNG\r\n--x\r\n\
            No-Name: 1\r\n\r\nlost\r\n--x--\r\n";
        let fields = multipart_fields(body, "x");
        assert_eq!(fields, [("a".into(), b"one\r\ntwo".to_vec()), ("file".into(), b"\x89PNG".to_vec())]);
    }

    #[test]
    fn boundaries() {
        assert_eq!(boundary_of("multipart/form-data; boundary=----abc; charset=x"), Some("----abc"));
        assert_eq!(boundary_of("multipart/form-data; boundary=\"a b\""), Some("a b"));
        assert_eq!(boundary_of("multipart/form-data; boundary="), None);
        assert_eq!(boundary_of("multipart/form-data"), None);
    }
}
