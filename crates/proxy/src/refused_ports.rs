//! Ports that no request is sent to, because other protocols are spoken there.
//!
//! They are those that browsers refuse. Otherwise a page could make the proxy send lines to a mail
//! server on its behalf.

/// The ports of the Fetch standard, in order.
const REFUSED_PORTS: [u16; 83] = [
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101, 102, 103,
    104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427, 465, 512, 513, 514,
    515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990, 993, 995, 1719, 1720, 1723,
    2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667, 6668, 6669, 6679, 6697, 10080,
];

/// Whether requests to a port are refused.
pub(crate) fn is_refused(port: u16) -> bool {
    REFUSED_PORTS.binary_search(&port).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ports_of_mail_are_refused_and_those_of_the_web_are_not() {
        assert!(REFUSED_PORTS.is_sorted());
        assert!([25, 22, 587, 6667].into_iter().all(is_refused));
        assert!(![80, 443, 8080, 3000, 65535].into_iter().any(is_refused));
    }
}
