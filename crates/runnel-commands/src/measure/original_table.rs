//! The table of several rates that `rostopic hz` and `ros2 topic hz` print.

/// The heads of the columns.
const COLUMNS: [&str; 6] = ["topic", "rate", "min_delta", "max_delta", "std_dev", "window"];

/// Columns with three spaces between them and centered heads.
pub fn table(rows: &[[String; 6]]) -> String {
    let width = |column: usize| {
        let cells = rows.iter().map(|row| row[column].chars().count());
        cells.chain([COLUMNS[column].len()]).max().unwrap_or_default()
    };
    let widths: [usize; 6] = std::array::from_fn(width);
    let head = std::array::from_fn::<String, 6, _>(|column| centered(COLUMNS[column], widths[column]));
    let mut text = head.join("   ") + "\n" + &"=".repeat(widths.iter().sum::<usize>() + 15);
    for row in rows {
        let cells: [String; 6] = std::array::from_fn(|column| format!("{:<1$}", row[column], widths[column]));
        text += &format!("\n{}", cells.join("   "));
    }
    text + "\n"
}

/// As Python's `str.center`: an odd space goes to the left if the width is odd.
fn centered(text: &str, width: usize) -> String {
    let spaces = width.saturating_sub(text.len());
    let left = spaces / 2 + (spaces & width & 1);
    format!("{}{text}{}", " ".repeat(left), " ".repeat(spaces - left))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_centered_as_in_python() {
        for (text, width, expected) in [
            ("ab", 5, "  ab "),
            ("abc", 6, " abc  "),
            ("topic", 9, "  topic  "),
            ("a", 2, "a "),
            ("abc", 2, "abc"),
        ] {
            assert_eq!(centered(text, width), expected);
        }
    }
}
