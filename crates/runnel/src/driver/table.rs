//! Things under small numbers that are never given twice.

/// A key of a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct Key {
    index: u32,
    generation: u32,
}

impl Key {
    /// The key as one number, for the reactor.
    pub(crate) fn to_bits(self) -> u64 {
        u64::from(self.generation) << 32 | u64::from(self.index)
    }

    /// The key that a number stands for.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }
}

/// A vector whose places are used again under new keys.
#[derive(Debug)]
pub(crate) struct Table<T> {
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

/// Whoever looks something up reads its generation and what it begins with: they lie side by side.
#[derive(Debug)]
#[repr(C)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self { places: Vec::new(), free: Vec::new() }
    }
}

impl<T> Table<T> {
    /// Adds what `make` makes of its key.
    pub(crate) fn insert_with(&mut self, make: impl FnOnce(Key) -> T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: 0, value: None });
            (self.places.len() - 1) as u32
        });
        let place = &mut self.places[index as usize];
        let key = Key { index, generation: place.generation };
        place.value = Some(make(key));
        key
    }

    pub(crate) fn get(&self, key: Key) -> Option<&T> {
        let Place { generation, value } = self.places.get(key.index as usize)?;
        value.as_ref().filter(|_| *generation == key.generation)
    }

    pub(crate) fn get_mut(&mut self, key: Key) -> Option<&mut T> {
        let Place { generation, value } = self.places.get_mut(key.index as usize)?;
        value.as_mut().filter(|_| *generation == key.generation)
    }

    pub(crate) fn remove(&mut self, key: Key) -> Option<T> {
        let Place { generation, value } = self.places.get_mut(key.index as usize)?;
        if *generation != key.generation {
            return None;
        }
        let removed = value.take()?;
        *generation = generation.wrapping_add(1) & 0x7fff_ffff;
        self.free.push(key.index);
        Some(removed)
    }

    pub(crate) fn keys(&self) -> Vec<Key> {
        let key = |(index, Place { generation, value }): (usize, &Place<T>)| {
            value.as_ref().map(|_| Key { index: index as u32, generation: *generation })
        };
        self.places.iter().enumerate().filter_map(key).collect()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &T> {
        self.places.iter().filter_map(|place| place.value.as_ref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_outlives_what_it_named_without_naming_another() {
        let mut table = Table::default();
        let first = table.insert_with(|_| 'a');
        assert_eq!(table.remove(first), Some('a'));
        let second = table.insert_with(|_| 'b');
        assert_eq!((table.get(first), table.get(second)), (None, Some(&'b')));
        assert_eq!(table.remove(first), None);
        assert_eq!(Key::from_bits(second.to_bits()), second);
        assert_eq!(table.keys(), [second]);
    }
}
