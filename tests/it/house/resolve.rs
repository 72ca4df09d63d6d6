//! Finds the definition of the item that a path names. It follows re-exports, glob imports and
//! enclosing modules.

use std::collections::BTreeSet;

use super::tree::{Import, ModuleId, Tree};

/// The module or item of its own crate that a path names.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Target {
    Module(ModuleId),
    /// An item, and the segments of the path behind the item's name.
    Item {
        module: ModuleId,
        name: String,
        rest: Vec<String>,
    },
}

impl Tree {
    /// Returns all meanings of a path, because one name can be a module, a type and a function at
    /// once. There are none if the path leads out of the crate.
    pub fn resolve(&self, module: ModuleId, path: &[String]) -> Vec<Target> {
        self.resolve_guarded(module, path, &mut BTreeSet::new())
    }

    fn resolve_guarded(&self, module: ModuleId, path: &[String], visited: &mut BTreeSet<(ModuleId, String)>) -> Vec<Target> {
        let Some((first, rest)) = path.split_first() else { return Vec::new() };
        let start = match first.as_str() {
            "crate" => vec![Target::Module(0)],
            "self" => vec![Target::Module(module)],
            "super" => self.modules[module].parent.map(Target::Module).into_iter().collect(),
            name => self.lookup(module, name, visited),
        };
        let mut found = Vec::new();
        for target in start {
            self.walk(target, rest, visited, &mut found);
        }
        found
    }

    /// Follows the rest of a path from a target that its beginning led to.
    fn walk(&self, from: Target, path: &[String], visited: &mut BTreeSet<(ModuleId, String)>, found: &mut Vec<Target>) {
        match from {
            Target::Item { module, name, mut rest } => {
                let is_type = self.modules[module].definitions[&name].iter().any(|definition| definition.is_type);
                if path.is_empty() || is_type {
                    rest.extend_from_slice(path);
                    found.push(Target::Item { module, name, rest });
                }
            }
            Target::Module(module) => match path.split_first() {
                None => found.push(Target::Module(module)),
                Some((first, rest)) if first == "super" => {
                    if let Some(parent) = self.modules[module].parent {
                        self.walk(Target::Module(parent), rest, visited, found);
                    }
                }
                Some((first, rest)) => {
                    for target in self.lookup(module, first, visited) {
                        self.walk(target, rest, visited, found);
                    }
                }
            },
        }
    }

    /// The meanings of a name in the scope of a module. Definitions and named imports come first,
    /// and glob imports count only without them.
    fn lookup(&self, id: ModuleId, name: &str, visited: &mut BTreeSet<(ModuleId, String)>) -> Vec<Target> {
        if !visited.insert((id, name.to_owned())) {
            return Vec::new();
        }
        let module = &self.modules[id];
        let mut found: Vec<Target> = module.child(name).map(Target::Module).into_iter().collect();
        if module.definitions.contains_key(name) {
            found.push(Target::Item { module: id, name: name.to_owned(), rest: Vec::new() });
        }
        for import in module.imports.iter().filter(|import| import.name.as_deref() == Some(name)) {
            found.extend(self.resolve_guarded(id, &import.path, visited));
        }
        if found.is_empty() {
            for import in module.imports.iter().filter(|import| import.name.is_none()) {
                found.extend(self.lookup_glob(id, import, name, visited));
            }
        }
        visited.remove(&(id, name.to_owned()));
        found
    }

    fn lookup_glob(&self, id: ModuleId, import: &Import, name: &str, visited: &mut BTreeSet<(ModuleId, String)>) -> Vec<Target> {
        let mut found = Vec::new();
        for target in self.resolve_guarded(id, &import.path, visited) {
            match target {
                Target::Module(module) => found.extend(self.lookup(module, name, visited)),
                Target::Item { module, name: item, .. } => {
                    let has_variant = |variants: &[String]| variants.iter().any(|variant| variant == name);
                    let definitions = &self.modules[module].definitions[&item];
                    if definitions.iter().any(|definition| has_variant(&definition.variants)) {
                        found.push(Target::Item { module, name: item, rest: vec![name.to_owned()] });
                    }
                }
            }
        }
        found
    }
}
