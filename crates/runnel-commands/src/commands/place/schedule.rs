//! Times of the day and days of the week: `08:00-18:00 mon-fri`.

use std::fmt;

const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];

/// Minutes of a day.
const DAY: u16 = 24 * 60;

/// The local time on the clock and the calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LocalTime {
    /// From Monday, which is 0.
    pub weekday: usize,
    /// Since midnight.
    pub minute: u16,
}

impl LocalTime {
    /// That of a date: year, month, day, hour, minute, and what follows.
    pub fn of_date([year, month, day, hour, minute, ..]: [i32; 6]) -> Self {
        // Days since 1 March of the year 0 (Gregorian), which was a Wednesday. March is the first month.
        let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
        let days = 365 * year + year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
        let days = days + (153 * month + 2) / 5 + day - 1;
        let weekday = usize::try_from((days + 2).rem_euclid(7)).unwrap_or(0);
        let minute = u16::try_from(hour * 60 + minute).unwrap_or(0);
        Self { weekday, minute }
    }
}

impl fmt::Display for LocalTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {:02}:{:02}", DAYS[self.weekday % 7], self.minute / 60, self.minute % 60)
    }
}

/// A part of each of some days. One that ends before it begins ends on the next day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    begin: u16,
    end: u16,
    /// The days on which it begins.
    days: [bool; 7],
}

impl Schedule {
    /// Parses `HH:MM-HH:MM`, with days after it unless it holds on all.
    ///
    /// # Errors
    /// What is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is no time of the day: HH:MM-HH:MM, and optionally days, as in 08:00-18:00 mon-fri or 22:00-06:00 sat,sun"
            )
        };
        let (times, days) = text.trim().split_once(char::is_whitespace).unwrap_or((text.trim(), "mon-sun"));
        let (begin, end) = times.split_once('-').ok_or_else(wrong)?;
        let (begin, end) = minute(begin).zip(minute(end)).ok_or_else(wrong)?;
        let days = days_of(days.trim()).ok_or_else(wrong)?;
        if begin == end || begin == DAY {
            return Err(wrong());
        }
        Ok(Self { begin, end, days })
    }

    /// Whether it holds at this time.
    pub fn holds(&self, now: LocalTime) -> bool {
        let yesterday = (now.weekday + 6) % 7;
        if self.begin < self.end {
            return self.days[now.weekday] && (self.begin..self.end).contains(&now.minute);
        }
        self.days[now.weekday] && now.minute >= self.begin || self.days[yesterday] && now.minute < self.end
    }
}

fn minute(text: &str) -> Option<u16> {
    let (hour, minute) = text.split_once(':')?;
    let digits = |text: &str| text.len() == 2 && text.bytes().all(|byte| byte.is_ascii_digit());
    if !digits(hour) || !digits(minute) {
        return None;
    }
    let (hour, minute): (u16, u16) = (hour.parse().ok()?, minute.parse().ok()?);
    let of_day = hour * 60 + minute;
    (minute < 60 && of_day <= DAY).then_some(of_day)
}

/// Days, separated by commas: single ones and ranges.
fn days_of(text: &str) -> Option<[bool; 7]> {
    let mut days = [false; 7];
    let day = |name: &str| DAYS.iter().position(|day| *day == name.trim().to_ascii_lowercase());
    for part in text.split(',') {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (mut at, last) = (day(first)?, day(last)?);
        days[last] = true;
        while at != last {
            days[at] = true;
            at = (at + 1) % 7;
        }
    }
    Some(days)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(weekday: usize, hour: u16, minute: u16) -> LocalTime {
        LocalTime { weekday, minute: hour * 60 + minute }
    }

    #[test]
    fn weekdays_of_dates_are_right() {
        for (date, shown) in [
            ([2000, 1, 1, 0, 0, 0], "sat 00:00"),
            ([2024, 2, 29, 23, 59, 60], "thu 23:59"),
            ([2024, 3, 1, 7, 5, 0], "fri 07:05"),
            ([2026, 11, 28, 8, 0, 0], "sat 08:00"),
            ([2100, 3, 1, 0, 0, 0], "mon 00:00"),
        ] {
            assert_eq!(LocalTime::of_date(date).to_string(), shown);
        }
    }

    #[test]
    fn schedule_holds_on_its_days() {
        let office = Schedule::parse("08:00-18:00 mon-fri").unwrap();
        assert!([at(0, 8, 0), at(4, 17, 59)].iter().all(|now| office.holds(*now)));
        assert!(![at(0, 7, 59), at(0, 18, 0), at(5, 12, 0)].iter().any(|now| office.holds(*now)));
        let always = Schedule::parse("00:00-24:00").unwrap();
        assert!((0..7).all(|day| always.holds(at(day, 23, 59)) && always.holds(at(day, 0, 0))));
    }

    #[test]
    fn schedule_goes_on_after_midnight() {
        let night = Schedule::parse("22:00-06:00 fri, Sun").unwrap();
        for (now, holds) in [
            (at(4, 21, 59), false),
            (at(4, 22, 0), true),
            (at(5, 5, 59), true),
            (at(5, 6, 0), false),
            (at(5, 22, 0), false),
            (at(6, 3, 0), false),
            (at(0, 3, 0), true),
        ] {
            assert_eq!(night.holds(now), holds, "{now}");
        }
        let weekend = Schedule::parse("00:00-24:00 sat-mon").unwrap();
        assert!([5, 6, 0].iter().all(|day| weekend.holds(at(*day, 1, 0))) && !weekend.holds(at(1, 1, 0)));
    }

    #[test]
    fn other_text_is_refused() {
        for text in [
            "",
            "08:00",
            "8:00-9:00",
            "08:00-25:00",
            "08:60-09:00",
            "08:00-08:00",
            "24:00-06:00",
            "08:00-09:00 monday",
            "08:00-09:00 mon-",
            "08:00-09:00 ,",
            "+8:00-09:00",
        ] {
            let error = Schedule::parse(text).unwrap_err();
            assert!(error.contains("08:00-18:00 mon-fri"), "{error}");
        }
    }
}
