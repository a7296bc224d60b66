//! Implicit types of unquoted text in YAML 1.1.
//!
//! Source: the tag repository of YAML 1.1 (bool, float, int, merge, null, timestamp, value), as PyYAML applies it.

use super::parse::parse_yaml_bool;

/// Whether unquoted `text` is text, and not a number, a truth value, a date or nothing.
pub(super) fn is_text(text: &str) -> bool {
    let word =
        matches!(text, "" | "~" | "null" | "Null" | "NULL" | "<<" | "=") || parse_yaml_bool(text).is_some();
    !(word || is_int(text) || is_float(text) || is_date(text) || is_date_and_time(text))
}

fn is_int(text: &str) -> bool {
    let scan = Scan::new(text).sign();
    let prefixed =
        |prefix: &str, set: fn(u8) -> bool| scan.text(prefix).is_some_and(|rest| rest.many(1, set).is_end());
    prefixed("0b", |c| matches!(c, b'0' | b'1' | b'_'))
        || prefixed("0", |c| matches!(c, b'0'..=b'7' | b'_'))
        || prefixed("0x", |c| c.is_ascii_hexdigit() || c == b'_')
        || scan.text("0").is_some_and(Scan::is_end)
        || scan.one(|c| matches!(c, b'1'..=b'9')).many(0, is_digit_or_underscore).sixties().is_end()
}

fn is_float(text: &str) -> bool {
    let start = Scan::new(text);
    let signed = start.sign();
    let whole = signed.one(is_digit).many(0, is_digit_or_underscore);
    whole.fraction().exponent().is_end()
        || start.byte(b'.').one(is_digit).many(0, is_digit_or_underscore).exponent().is_end()
        || whole.sixties().fraction().is_end()
        || [".inf", ".Inf", ".INF"].iter().any(|word| signed.text(word).is_some_and(Scan::is_end))
        || matches!(text, ".nan" | ".NaN" | ".NAN")
}

fn is_date(text: &str) -> bool {
    Scan::new(text).digits(4, 4).byte(b'-').digits(2, 2).byte(b'-').digits(2, 2).is_end()
}

fn is_date_and_time(text: &str) -> bool {
    let blank = |c| matches!(c, b' ' | b'\t');
    let date = Scan::new(text).digits(4, 4).byte(b'-').digits(1, 2).byte(b'-').digits(1, 2);
    let between = match date.one(|c| matches!(c, b'T' | b't')) {
        scan if scan.failed() => date.many(1, blank),
        scan => scan,
    };
    let clock = between.digits(1, 2).byte(b':').digits(2, 2).byte(b':').digits(2, 2);
    let fraction = match clock.byte(b'.') {
        scan if scan.failed() => clock,
        scan => scan.many(0, is_digit),
    };
    let zone = fraction.many(0, blank);
    let hours = zone.one(|c| matches!(c, b'-' | b'+')).digits(1, 2);
    fraction.is_end() || zone.byte(b'Z').is_end() || hours.is_end() || hours.byte(b':').digits(2, 2).is_end()
}

fn is_digit(c: u8) -> bool {
    c.is_ascii_digit()
}

fn is_digit_or_underscore(c: u8) -> bool {
    is_digit(c) || c == b'_'
}

/// Unmatched rest of a text; `None` after a mismatch.
#[derive(Clone, Copy)]
struct Scan<'a>(Option<&'a [u8]>);

impl<'a> Scan<'a> {
    fn new(text: &'a str) -> Self {
        Self(Some(text.as_bytes()))
    }

    fn failed(self) -> bool {
        self.0.is_none()
    }

    fn is_end(self) -> bool {
        self.0.is_some_and(<[u8]>::is_empty)
    }

    fn one(self, set: impl Fn(u8) -> bool) -> Self {
        Self(self.0.and_then(|rest| rest.split_first()).and_then(|(first, rest)| set(*first).then_some(rest)))
    }

    fn byte(self, byte: u8) -> Self {
        self.one(|c| c == byte)
    }

    /// A point and the digits after it.
    fn fraction(self) -> Self {
        self.byte(b'.').many(0, is_digit_or_underscore)
    }

    /// As many of the set as follow, at least `least`.
    fn many(self, least: usize, set: impl Fn(u8) -> bool) -> Self {
        let count = |rest: &[u8]| rest.iter().take_while(|c| set(**c)).count();
        Self(self.0.and_then(|rest| rest.get(count(rest)..).filter(|_| count(rest) >= least)))
    }

    /// As many digits as follow, from `least` to `most`.
    fn digits(self, least: usize, most: usize) -> Self {
        let count = self.0.map_or(0, |rest| rest.iter().take(most).take_while(|c| is_digit(**c)).count());
        Self(self.0.and_then(|rest| rest.get(count..)).filter(|_| count >= least))
    }

    fn text(self, text: &str) -> Option<Self> {
        self.0.and_then(|rest| rest.strip_prefix(text.as_bytes())).map(|rest| Self(Some(rest)))
    }

    fn sign(self) -> Self {
        match self.one(|c| matches!(c, b'-' | b'+')) {
            scan if scan.failed() => self,
            scan => scan,
        }
    }

    /// An exponent with its sign, or nothing.
    fn exponent(self) -> Self {
        let exponent = self.one(|c| matches!(c, b'e' | b'E')).one(|c| matches!(c, b'-' | b'+'));
        match exponent.many(1, is_digit) {
            scan if scan.failed() => self,
            scan => scan,
        }
    }

    /// Groups `:0` to `:59`, of a number in base sixty, or nothing.
    fn sixties(self) -> Self {
        let mut scan = self;
        loop {
            let colon = scan.byte(b':');
            let two = colon.one(|c| matches!(c, b'0'..=b'5')).one(is_digit);
            let next = if two.failed() { colon.one(is_digit) } else { two };
            if next.failed() {
                return scan;
            }
            scan = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_with_meaning_in_pyyaml_are_not_text() {
        let others = "~ null Null NULL true Yes off ON << = 0 -1 +1 017 0b1 0x1F 1_000 12:30:45 1:5 1. 1.5 .5 -.inf .inf \
                      .nan .NaN 1.0e+5 1.5e-07 12:30.5 2020-01-01 2020-1-1T1:02:03 2020-01-01T00:00:00.5Z 0_ 0b_";
        for text in
            others.split_whitespace().chain(["", "2020-01-01 00:00:00 +09:00", "2020-01-01  0:00:00 -9"])
        {
            assert!(!is_text(text), "{text}");
        }
    }

    #[test]
    fn words_without_meaning_in_pyyaml_are_text() {
        let texts = "a y n 1e5 1e+5 0o17 NaN inf nan -- 1a 08 09 0x 0b2 1:60x :5 -. + . 2020-01-1 2020-01-01T 1.0e5 1.5e \
                     tRUE -.nan +.5 12:60 2020-1-1";
        for text in texts.split_whitespace() {
            assert!(is_text(text), "{text}");
        }
    }
}
