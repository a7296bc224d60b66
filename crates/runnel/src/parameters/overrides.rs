//! Values that files and arguments give parameters in place of their defaults.

use runnel_core::sorted::SortedMap;

use crate::parameters::parameter_value::ParameterValue;

/// A value in place of a default.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Override {
    pub(crate) value: ParameterValue,
    /// Where it is from, for errors.
    pub(crate) origin: String,
}

/// Overrides by the names of parameters. Of two with one name the last is used.
#[derive(Clone, Debug, Default)]
pub(crate) struct Overrides(SortedMap<String, Override>);

impl Overrides {
    pub(crate) fn get(&self, name: &str) -> Option<&Override> {
        self.0.get(name)
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }
}

impl IntoIterator for Overrides {
    type Item = (String, Override);
    type IntoIter = <SortedMap<String, Override> as IntoIterator>::IntoIter;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl FromIterator<(String, Override)> for Overrides {
    fn from_iter<I: IntoIterator<Item = (String, Override)>>(all: I) -> Self {
        let mut by_name = SortedMap::new();
        for (name, given) in all {
            by_name.insert(name, given);
        }
        Self(by_name)
    }
}
