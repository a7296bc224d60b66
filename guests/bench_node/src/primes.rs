//! Prime numbers, by trial division.

/// Those up to a limit.
pub fn up_to(limit: u32) -> Vec<u32> {
    (2..=limit).filter(|number| is_prime(*number)).collect()
}

/// So many, from 2 on.
pub fn first(count: u32) -> Vec<u32> {
    (2..=u32::MAX).filter(|number| is_prime(*number)).take(count as usize).collect()
}

/// Whether no number from 2 up to the square root divides it.
fn is_prime(number: u32) -> bool {
    (2..).take_while(|divisor| divisor * divisor <= number).all(|divisor| !number.is_multiple_of(divisor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn primes_are_complete() {
        assert_eq!(up_to(20), [2, 3, 5, 7, 11, 13, 17, 19]);
        assert!(up_to(1).is_empty());
        assert_eq!(up_to(1024).len(), 172);
    }

    #[test]
    fn first_primes_are_as_many_as_asked_for() {
        assert!(first(0).is_empty());
        assert_eq!(first(5), [2, 3, 5, 7, 11]);
        assert_eq!(first(1024).last(), Some(&8161));
    }
}
