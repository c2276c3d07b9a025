// quorate rebuild: learns a model again from the labels it keeps, without some of them or with other settings.
#include <iostream>

#include "common.h"
#include "quorate/base/number.h"
#include "quorate/model/model.h"
#include "quorate/store/files.h"

namespace quorate::cli {
namespace {

struct RebuildOptions {
  std::string model, out, learner;
  std::vector<std::uint64_t> undo;
  std::vector<std::string> correct, forget, rename;
  bool strict = false, quiet = false;
};

void correct(Model& model, const std::string& text) {
  const std::size_t at = text.find('=');
  const auto id = parse_number<std::uint64_t>(std::string_view(text).substr(0, at));
  if (at == text.npos || !id) throw UsageError("--correct " + text + ": expected ID=LABEL, as 17=spam");
  const std::string word = text.substr(at + 1);
  const auto& classes = model.reduction.classes();
  if (const auto named = std::ranges::find(classes, word); named != classes.end())
    return model.correct(*id, Label::of_class(static_cast<std::size_t>(named - classes.begin())));
  for (const Answer y : {kYes, kNo})
    if (word == model.answer_word(y)) return model.session.correct(*id, y);
  throw UsageError("--correct " + text + ": unknown label; expected " + model.answer_word(kYes) + " or " +
                   model.answer_word(kNo) + (classes.empty() ? "" : ", or a class, as " + classes[0]));
}

/// OLD=NEW, where either may have a = in it.
void rename(Session& session, const std::string& text) {
  for (std::size_t at = text.find('='); at != text.npos; at = text.find('=', at + 1))
    if (session.tasks().find(text.substr(0, at))) return session.rename_task(text.substr(0, at), text.substr(at + 1));
  const std::size_t at = text.find('=');
  if (at == text.npos) throw UsageError("--rename " + text + ": expected OLD=NEW, as ann=anne");
  session.rename_task(text.substr(0, at), text.substr(at + 1));
}

int run(const RebuildOptions& o) {
  const std::string out = o.out.empty() ? o.model : o.out;
  if (!o.learner.empty()) check_output({"--out", out}, files_of_learner(o.learner));
  const FileLock lock(out);
  Model model = Model::load(o.model);
  free_large_arrays_at_once(model);
  Session& session = model.session;
  if (!o.forget.empty() && !model.reduction.by_task())
    throw UsageError("--forget: the tasks of " + o.model + " are its classes; expected a model with users or tasks");
  if (!o.rename.empty() && !model.reduction.by_task())
    throw UsageError("--rename: the tasks of " + o.model + " are its classes; expected a model with users or tasks");
  for (const std::string& text : o.rename) rename(session, text);
  if (!o.rename.empty() && o.forget.empty() && o.correct.empty() && o.undo.empty() && o.learner.empty() && !o.strict) {
    model.save(out);  // nothing to learn again
    if (!o.quiet) std::cout << out << ": " << counted(o.rename.size(), "task") << " renamed\n";
    return kDone;
  }
  for (const std::string& task : o.forget) session.forget(task, o.strict);
  for (const std::string& text : o.correct) correct(model, text);
  if (!o.undo.empty()) session.undo(o.undo, o.strict);
  if (!o.learner.empty())
    model.relearn(parse_spec(o.learner));
  else if (o.undo.empty() && (o.forget.empty() || !o.correct.empty()))
    session.rebuild(o.strict);
  session.check_none_left_out();
  model.save(out);
  if (!o.quiet)
    std::cout << out << ": " << to_text(session.spec()) << " learned again from " << grouped(session.labels().size())
              << " of " << counted(session.labels().next_id(), "label") << "\n";
  return kDone;
}

}  // namespace

Command add_rebuild(CLI::App& app) {
  const auto o = std::make_shared<RebuildOptions>();
  app.add_option("model,--model", o->model, "model file")->required()->type_name("FILE");
  app.add_option("--undo", o->undo, "take these answers back: ids as quorate labels prints them")
      ->delimiter(',')
      ->check(whole(0))
      ->type_name("ID");
  app.add_option("--correct", o->correct, "change an answer, as 17=spam; repeatable")
      ->allow_extra_args(false)
      ->type_name("ID=LABEL");
  app.add_option("--forget", o->forget, "forget this task: its labels, its examples, its name; repeatable")
      ->allow_extra_args(false)
      ->type_name("TASK");
  app.add_option("--rename", o->rename,
                 "give a task another name, as ann=anne; repeatable; by itself nothing is learned again")
      ->allow_extra_args(false)
      ->type_name("OLD=NEW");
  app.add_flag("--strict", o->strict,
               "scale features by the kept examples alone, so that nothing is left of any other example");
  app.add_option("--learner", o->learner, "learn with this learner, or these parameters, instead")->type_name("LEARNER");
  app.add_option("--out", o->out, "file to write; default: the model file")->type_name("FILE");
  app.add_flag("--quiet", o->quiet, "print nothing but errors");
  app.footer(
      "The model becomes the one that a new learner makes of the kept labels, in their order, and of the latest examples "
      "without a label; the same command gives the same bytes. Labels that are taken back stay bought. While all examples "
      "are kept, features are scaled by those alone. Once there are too many, the scales stay without --strict as counted "
      "from all examples, those of forgotten tasks too. Counts, audits and, of models with --bits 0, the names of features "
      "stay in any case.\nExample:\n  quorate rebuild spam.model --undo 17,32 --forget carl --strict");
  return [o] { return run(*o); };
}

}  // namespace quorate::cli
