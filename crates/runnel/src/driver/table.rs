//! Generational table: values under keys that are never reused.

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

    /// The key from its number.
    pub(crate) fn from_bits(bits: u64) -> Self {
        Self { index: bits as u32, generation: (bits >> 32) as u32 }
    }

    /// The component whose table has the key.
    pub(crate) fn owner(self) -> Owner {
        match self.generation >> OWNER_SHIFT {
            0 => Owner::Sockets,
            _ => Owner::IpcConnections,
        }
    }
}

/// The components whose keys are tokens of the reactor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Owner {
    Sockets = 0,
    IpcConnections = 1,
}

/// Lowest bit of a generation that identifies its owner. The highest bit is free for the reactor's own token.
const OWNER_SHIFT: u32 = 30;

/// A vector whose free places are reused under new keys.
#[derive(Debug)]
pub(crate) struct Table<T> {
    owner: Owner,
    places: Vec<Place<T>>,
    free: Vec<u32>,
}

/// A lookup reads the generation and the beginning of the value, so they are adjacent.
#[derive(Debug)]
#[repr(C)]
struct Place<T> {
    generation: u32,
    value: Option<T>,
}

impl<T> Default for Table<T> {
    fn default() -> Self {
        Self::of(Owner::Sockets)
    }
}

impl<T> Table<T> {
    /// A table whose keys differ from those of other components.
    pub(crate) fn of(owner: Owner) -> Self {
        Self { owner, places: Vec::new(), free: Vec::new() }
    }

    /// Adds the value that `make` returns for its key.
    pub(crate) fn insert_with(&mut self, make: impl FnOnce(Key) -> T) -> Key {
        let index = self.free.pop().unwrap_or_else(|| {
            self.places.push(Place { generation: (self.owner as u32) << OWNER_SHIFT, value: None });
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
        let owner = *generation >> OWNER_SHIFT << OWNER_SHIFT;
        *generation = owner | (*generation + 1) & !(u32::MAX << OWNER_SHIFT);
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
    fn removed_key_names_no_other_value() {
        let mut table = Table::default();
        let first = table.insert_with(|_| 'a');
        assert_eq!(table.remove(first), Some('a'));
        let second = table.insert_with(|_| 'b');
        assert_eq!((table.get(first), table.get(second)), (None, Some(&'b')));
        assert_eq!(table.remove(first), None);
        assert_eq!(Key::from_bits(second.to_bits()), second);
        assert_eq!(table.keys(), [second]);
    }

    #[test]
    fn keys_of_components_differ() {
        let (mut sockets, mut ipc_connections) = (Table::default(), Table::of(Owner::IpcConnections));
        for round in 0..3 {
            let (socket, ipc_connection) =
                (sockets.insert_with(|_| 's'), ipc_connections.insert_with(|_| 't'));
            assert_eq!(
                (socket.owner(), ipc_connection.owner()),
                (Owner::Sockets, Owner::IpcConnections),
                "{round}"
            );
            assert_eq!((sockets.get(ipc_connection), ipc_connections.get(socket)), (None, None));
            assert_eq!(
                (sockets.remove(socket), ipc_connections.remove(ipc_connection)),
                (Some('s'), Some('t'))
            );
        }
    }
}
