//! Letters made of straight strokes, so that the picture needs no font.

/// Height of the base line in the grid of a glyph; a small letter is 4 high, a digit 6.
pub(super) const BASE: f64 = 2.0;
/// Free units between two letters.
pub(super) const GAP: f64 = 1.9;

/// A letter: lines through places of a grid, x to the right and y up.
pub(super) struct Glyph {
    pub(super) lines: Vec<Vec<(f64, f64)>>,
    /// From the beginning of this letter to that of the next.
    pub(super) advance: f64,
}

/// The glyph of a letter, digit or mark; capitals as small letters, and a box for what is missing.
pub(super) fn glyph(letter: char) -> Glyph {
    let lines: Vec<Vec<_>> = strokes(letter.to_ascii_lowercase()).split_whitespace().map(line).collect();
    let right = lines.iter().flatten().map(|(x, _)| *x).fold(0.0, f64::max);
    Glyph { advance: if lines.is_empty() { 3.0 } else { right + GAP }, lines }
}

/// The places of one line, of which each is written as its x and its y.
fn line(places: &str) -> Vec<(f64, f64)> {
    let unit = |digit: u8| f64::from(digit - b'0');
    places.as_bytes().chunks_exact(2).map(|place| (unit(place[0]), unit(place[1]))).collect()
}

fn strokes(letter: char) -> &'static str {
    match letter {
        '0'..='9' => digit(letter),
        'a'..='z' => small_letter(letter),
        _ => mark(letter),
    }
}

fn digit(letter: char) -> &'static str {
    match letter {
        '0' => "123243473818070312",
        '1' => "072822 0242",
        '2' => "07183847460242",
        '3' => "07183847463515 354443321203",
        '4' => "380444 3832",
        '5' => "480805354443321203",
        '6' => "473818070312324344351504",
        '7' => "084812",
        '8' => "183847463515060718 1504031232434435",
        _ => "031232434738180706153546",
    }
}

fn small_letter(letter: char) -> &'static str {
    match letter {
        'a' => "0516364542 441403123243",
        'b' => "0802 0516364543321203",
        'c' => "4536160503123243",
        'd' => "4842 4536160503123243",
        'e' => "04444536160503123243",
        'f' => "38281712 0636",
        'g' => "4536160503123243 4641301001",
        'h' => "0802 0516364542",
        'i' => "0602 0808",
        'j' => "161100 1818",
        'k' => "0802 0336 1432",
        'l' => "0802",
        'm' => "0602 0516263532 3546566562",
        'n' => "0602 0516364542",
        'o' => "163645433212030516",
        'p' => "0600 0516364543321203",
        'q' => "4640 4536160503123243",
        'r' => "0602 051636",
        's' => "45361605143443321203",
        't' => "18132232 0636",
        'u' => "0603123243 4642",
        'v' => "062246",
        'w' => "0612355266",
        'x' => "0642 0246",
        'y' => "0622 4610",
        _ => "06460242",
    }
}

fn mark(letter: char) -> &'static str {
    match letter {
        ' ' => "",
        '.' => "0202",
        ',' => "1201",
        ':' => "0202 0505",
        '/' => "0138",
        '-' => "0434",
        '(' => "18060311",
        ')' => "08161301",
        _ => "0242480802",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_stroke_has_whole_places() {
        for letter in (' '..='~').chain(['µ', '漢']) {
            for places in strokes(letter.to_ascii_lowercase()).split_whitespace() {
                let whole = places.len() >= 4 && places.len().is_multiple_of(2);
                assert!(whole && places.bytes().all(|byte| byte.is_ascii_digit()), "{letter:?}: {places}");
            }
        }
    }

    #[test]
    fn no_two_letters_look_alike() {
        let letters: Vec<char> = ('a'..='z').chain('0'..='9').chain(" .,:/-()".chars()).collect();
        for (index, one) in letters.iter().enumerate() {
            assert!(letters[..index].iter().all(|other| strokes(*one) != strokes(*other)), "{one}");
        }
    }

    #[test]
    fn what_has_no_glyph_is_a_box_and_a_space_is_empty() {
        assert_eq!(glyph('漢').lines.len(), 1);
        assert!(glyph(' ').lines.is_empty() && glyph(' ').advance > 0.0);
    }
}
