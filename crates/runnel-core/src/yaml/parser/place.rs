//! Positions of values in a text, for errors.

use super::events::{Event, EventKind, Events};
use super::{Place, ReadError};

/// Line and column of a value in a text, counted from 1: of the key of a member, and of the value of an element or document.
/// `path` has the key or the index for each mapping and list above the value, in the `document` of this number from 0.
/// `None` if the text has no such value as written, for example since it is a member that `<<` merges.
pub fn place_of(text: &str, document: usize, path: &[String]) -> Option<Place> {
    let mut events = Events::new(text);
    for number in 0..=document {
        if !events.next_document().ok()? {
            return None;
        }
        if number < document {
            events.skip().ok()?;
        }
    }
    find(&mut events, path).ok()?
}

fn find(events: &mut Events<'_>, path: &[String]) -> Result<Option<Place>, ReadError> {
    let Event { kind, place, .. } = events.next()?;
    let Some((step, below)) = path.split_first() else { return Ok(Some(place)) };
    match kind {
        EventKind::List => {
            let wanted = step.parse().ok();
            for index in 0_usize.. {
                if events.take_end()? {
                    break;
                }
                if wanted == Some(index) {
                    return find(events, below);
                }
                events.skip()?;
            }
            Ok(None)
        }
        EventKind::Mapping => loop {
            if events.take_end()? {
                return Ok(None);
            }
            let key = events.next()?;
            let is_step = matches!(&key.kind, EventKind::Scalar { text, .. } if text == step);
            if is_step {
                return if below.is_empty() { Ok(Some(key.place)) } else { find(events, below) };
            }
            if matches!(key.kind, EventKind::List | EventKind::Mapping) {
                events.skip_rest()?;
            }
            events.skip()?;
        },
        _ => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn place_of_a_value_is_that_of_its_key() {
        let text =
            "rate: 5\nlimits:\n  left:\n  right: [1, 2,\n    null]\n---\n? [odd, key]\n: 1\nspeed: ~\n";
        let place = |document, path: &[&str]| {
            place_of(text, document, &path.iter().map(|step| (*step).to_owned()).collect::<Vec<_>>())
        };
        assert_eq!(place(0, &["rate"]), Some((1, 1)));
        assert_eq!(place(0, &["limits", "left"]), Some((3, 3)));
        assert_eq!(place(0, &["limits", "right", "2"]), Some((5, 5)));
        assert_eq!(place(1, &["speed"]), Some((9, 1)));
        for path in [&["wrong"][..], &["rate", "below"], &["limits", "right", "3"], &["limits", "right", "x"]]
        {
            assert_eq!(place(0, path), None, "{path:?}");
        }
        assert_eq!(place(2, &["speed"]), None);
    }
}
