//! Each standard type in the forms that it has in both generations.

use runnel_core::dynamic::DynamicMessage;
use runnel_core::schema::{Generation, Kind, Library};

#[test]
fn a_message_of_any_standard_type_can_be_had_in_the_form_of_the_other_generation() {
    let library = runnel_msgs::library();
    let mut alike = 0;
    for name in library.names(Kind::Message) {
        let [ros1, ros2] =
            Generation::ALL.map(|generation| library.message_in(generation, name).expect("built in"));
        for (one, other) in [(&ros1, &ros2), (&ros2, &ros1)] {
            assert_eq!(library.form_of(one, other.generation).unwrap(), *other, "{name}");
            let formed = DynamicMessage::default_of(one).unwrap().to_form(other);
            assert!(formed.is_ok(), "{name} in {:?}: {}", other.generation, formed.unwrap_err());
        }
        if ros1.is_laid_out_as(&ros2) {
            alike += 1;
            let message = DynamicMessage::default_of(&ros1).unwrap();
            assert_eq!(message.to_bytes(), message.to_form(&ros2).unwrap().to_bytes(), "{name}");
        }
    }
    assert!(alike > 100, "{alike}");
}

#[test]
fn a_type_of_the_users_own_takes_its_standard_parts_from_the_library() {
    let text = "std_msgs/Header header\nsensor_msgs/CameraInfo[] cameras\nOwn2 own";
    let mut users = runnel_msgs::library();
    for (name, text) in [("a/Own", text), ("a/Own2", "time Stamp")] {
        let name = runnel_core::schema::TypeName::parse(name).unwrap();
        users.add_text(Kind::Message, name, text, "Own.msg");
    }
    let name = runnel_core::schema::TypeName::parse("a/Own").unwrap();
    let [ros1, ros2] = Generation::ALL.map(|generation| users.message_in(generation, &name).unwrap());
    let library: Library = runnel_msgs::library();
    let formed = library.form_of(&ros1, Generation::Ros2).unwrap();
    assert_eq!((formed.rihs01(), &formed.md5), (ros2.rihs01(), &ros2.md5));
    // Only standard types have their capitals back.
    let back = library.form_of(&ros2, Generation::Ros1).unwrap();
    assert_eq!(back.parts[..2], ros1.parts[..2]);
    assert_eq!(back.parts[2].as_ref().unwrap().def.fields[0].name, "stamp");
}
