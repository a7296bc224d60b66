//! Names of the types that ROS 2 makes of an action, for definitions in bags: they do not say in which folder a type is.

use std::sync::Arc;

use runnel::core::schema::Schema;

/// The folder of such types.
const FOLDER: &str = "/action";

/// The parts of an action `X` of which its other types are made, as `X_Goal`.
const PARTS: [&str; 3] = ["Goal", "Result", "Feedback"];

/// A definition with its name in ROS 2. The parts of an action that it has get theirs.
pub fn named(schema: &Schema, ros2_name: &str) -> Arc<Schema> {
    let mut named = Schema::clone(schema);
    named.def.ros2_name = ros2_name.to_owned();
    let action = ros2_name.rsplit_once('/').filter(|(folder, _)| folder.ends_with(FOLDER));
    // Names of actions have no underscore.
    let action = action.and_then(|(folder, name)| Some((folder, name.split_once('_')?.0)));
    if let Some((folder, action)) = action {
        for part in named.parts.iter_mut().flatten() {
            let name = &part.def.name;
            let is_part = PARTS.iter().any(|suffix| name.name == format!("{action}_{suffix}"));
            if is_part && folder.strip_suffix(FOLDER) == Some(name.package.as_str()) {
                let ros2_name = format!("{folder}/{}", name.name);
                let mut renamed = Schema::clone(part);
                renamed.def.ros2_name = ros2_name;
                *part = Arc::new(renamed);
            }
        }
    }
    Arc::new(named)
}
