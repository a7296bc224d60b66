//! Form of a type in the other generation, also for types that are in no library.

use super::full_text::full_text;
use super::generation::{Generation, ros2_form, ros2_has};
use super::library::Library;
use super::md5::message_md5;
use super::resolve::{MAX_MESSAGE_DEPTH, MAX_TEXT_WORK, ResolveError};
use super::types::{Element, Field, Schema, TypeName};
use crate::sorted::{SortedMap, SortedSet};
use std::sync::Arc;

impl Library {
    /// The form of a type in a generation, for a schema of either generation. Definitions that are the same in the library are
    /// taken from it, with their differences between the generations; the rest is derived from `schema`.
    ///
    /// # Errors
    /// If messages are nested too deep or the text is too large: see [`ResolveError`].
    pub fn form_of(&self, schema: &Arc<Schema>, generation: Generation) -> Result<Arc<Schema>, ResolveError> {
        Forming { library: self, generation, done: SortedMap::new(), budget: MAX_TEXT_WORK }.form(schema, 0)
    }
}

struct Forming<'a> {
    library: &'a Library,
    generation: Generation,
    /// A peer's schema may name parts in any number of ways.
    done: SortedMap<TypeName, Arc<Schema>>,
    budget: usize,
}

impl Forming<'_> {
    fn form(&mut self, schema: &Arc<Schema>, depth: usize) -> Result<Arc<Schema>, ResolveError> {
        let name = &schema.def.name;
        if schema.generation == self.generation {
            return Ok(Arc::clone(schema));
        }
        if depth >= MAX_MESSAGE_DEPTH {
            return Err(ResolveError::TooDeep(name.clone()));
        }
        if let Some(done) = self.done.get(name) {
            return Ok(Arc::clone(done));
        }
        let form = match self.find_same(schema) {
            Some(find_same) => find_same,
            None => self.made(schema, depth)?,
        };
        self.done.insert(name.clone(), Arc::clone(&form));
        Ok(form)
    }

    /// The library's form, if it has the same type.
    fn find_same(&self, schema: &Schema) -> Option<Arc<Schema>> {
        let name = &schema.def.name;
        self.library.message_in(schema.generation, name).ok().filter(|own| own.md5 == schema.md5)?;
        self.library.message_in(self.generation, name).ok()
    }

    fn made(&mut self, schema: &Schema, depth: usize) -> Result<Arc<Schema>, ResolveError> {
        let mut parts = Vec::with_capacity(schema.parts.len());
        for (field, part) in schema.def.fields.iter().zip(&schema.parts) {
            if self.generation == Generation::Ros1 || ros2_has(&schema.def, field) {
                parts.push(part.as_ref().map(|part| self.form(part, depth + 1)).transpose()?);
            }
        }
        let def = match self.generation {
            Generation::Ros1 => schema.def.clone(),
            Generation::Ros2 => ros2_form(schema.def.clone()),
        };
        let md5 = message_md5(&def, &parts);
        let too_large = || ResolveError::TooLarge(def.name.clone());
        let full_text = full_text(self.generation, &def, &parts, &mut self.budget).ok_or_else(too_large)?;
        Ok(Arc::new(Schema { generation: self.generation, def, parts, md5, full_text }))
    }
}

impl Schema {
    /// Whether messages of this form and of another are made of the same values in the same order, whatever the fields are
    /// called: bytes of one, in whichever encoding, are bytes of the other.
    pub fn is_laid_out_as(&self, other: &Schema) -> bool {
        laid_out_alike(self, other, &mut SortedSet::new())
    }
}

fn laid_out_alike<'a>(
    one: &'a Schema,
    other: &'a Schema,
    found: &mut SortedSet<(&'a TypeName, &'a TypeName)>,
) -> bool {
    if !found.insert((&one.def.name, &other.def.name)) {
        return true;
    }
    let same = |(one, other): (&Field, &Field)| {
        let messages = matches!((&one.element, &other.element), (Element::Message(_), Element::Message(_)));
        one.arity == other.arity && (messages || one.element == other.element)
    };
    one.def.fields.len() == other.def.fields.len()
        && one.def.fields.iter().zip(&other.def.fields).all(same)
        && one.parts.iter().zip(&other.parts).all(|parts| match parts {
            (Some(one), Some(other)) => laid_out_alike(one, other, found),
            (one, other) => one.is_none() && other.is_none(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::Kind;

    fn library(types: &[(&str, &str)]) -> Library {
        let mut library = Library::new();
        for (name, text) in types {
            library.add_text(Kind::Message, TypeName::parse(name).unwrap(), (*text).to_owned(), name);
        }
        library
    }

    const HEADER: (&str, &str) = ("std_msgs/Header", "uint32 seq\ntime stamp\nstring frame_id");
    const OWN: (&str, &str) = ("a/Own", "Header header\nOther[] camelCase\nduration[2] waits");
    const OTHER: (&str, &str) = ("a/Other", "float64[9] K");

    fn name(text: &str) -> TypeName {
        TypeName::parse(text).unwrap()
    }

    #[test]
    fn unknown_type_has_the_form_of_its_text() {
        let all = library(&[HEADER, OWN, OTHER]);
        for (from, to) in [(Generation::Ros1, Generation::Ros2), (Generation::Ros2, Generation::Ros1)] {
            let schema = all.message_in(from, &name("a/Own")).unwrap();
            assert_eq!(all.form_of(&schema, from).unwrap(), schema);
            assert!(Arc::ptr_eq(
                &all.form_of(&schema, to).unwrap(),
                &all.message_in(to, &name("a/Own")).unwrap()
            ));
        }
        let ros1 = all.message(&name("a/Own")).unwrap();
        let ros2 = library(&[HEADER]).form_of(&ros1, Generation::Ros2).unwrap();
        assert_eq!(*ros2, *all.message_in(Generation::Ros2, &name("a/Own")).unwrap());
        assert_eq!(*Library::new().form_of(&ros1, Generation::Ros2).unwrap(), *ros2);
        // `seq` is only in the library.
        let back = library(&[HEADER]).form_of(&ros2, Generation::Ros1).unwrap();
        assert!(back.full_text.contains("uint32 seq"), "{}", back.full_text);
        assert!(!Library::new().form_of(&ros2, Generation::Ros1).unwrap().full_text.contains("seq"));
    }

    #[test]
    fn conflicting_library_definition_is_not_used() {
        let ros1 = library(&[HEADER, OWN, OTHER]).message(&name("a/Own")).unwrap();
        let another = library(&[HEADER, OWN, ("a/Other", "int8 x")]);
        let ros2 = another.form_of(&ros1, Generation::Ros2).unwrap();
        assert_eq!(ros2.parts[1].as_ref().unwrap().def.fields[0].name, "k");
    }

    #[test]
    fn forms_differ_only_in_fields_of_one_generation() {
        let all = library(&[HEADER, OWN, OTHER]);
        let [own, other] = ["a/Own", "a/Other"]
            .map(|text| Generation::ALL.map(|generation| all.message_in(generation, &name(text)).unwrap()));
        assert!(!own[0].is_laid_out_as(&own[1]) && own[0].is_laid_out_as(&own[0]));
        assert!(other[0].is_laid_out_as(&other[1]) && !other[0].is_laid_out_as(&own[0]));
        let longer = library(&[("a/Other", "float64[10] K")]).message(&name("a/Other")).unwrap();
        assert!(!longer.is_laid_out_as(&other[0]));
    }

    #[test]
    fn repeated_parts_take_bounded_time() {
        let mut types = vec![("a/T0".to_owned(), "int32 Value".to_owned())];
        types.extend((1..50).map(|n| (format!("a/T{n}"), format!("T{} a\nT{} b", n - 1, n - 1))));
        let types: Vec<(&str, &str)> =
            types.iter().map(|(name, text)| (name.as_str(), text.as_str())).collect();
        let ros1 = library(&types).message(&name("a/T49")).unwrap();
        let ros2 = Library::new().form_of(&ros1, Generation::Ros2).unwrap();
        assert!(ros2.full_text.contains("int32 value"));
    }
}
