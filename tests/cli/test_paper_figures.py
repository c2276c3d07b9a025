"""The figures of Saha et al. on the ten news pairs: what a slow, literal transcription measured, within a stated band."""
import pytest

pytestmark = pytest.mark.check

# Mean mistakes and labels bought, of 11,314 examples (design notes, section 1).
MEASURED = {
    "perceptron": (1090, None),
    "cmtl": (1025, None),
    "cmtl(query=margin(b=1))": (1023, 10531),
    "amtl": (989, None),
    "amtl(query=similarity)": (1002, 10966),
}


@pytest.fixture(scope="module")
def figures(data, quorate_in):
    quorate = quorate_in(data("news").parent)
    return {learner: quorate.ok("simulate", "--data", "news/train", "--test", "news/test", "--runs", 5, "--learner",
                                learner, "--json").json() for learner in MEASURED}


@pytest.mark.parametrize("learner", MEASURED)
def test_mistakes_and_labels_are_near_the_measured_ones(figures, learner):
    mistakes, labels = MEASURED[learner]
    document = figures[learner]
    assert (document["tasks"], document["examples"], len(document["runs"])) == (10, 11314, 5)
    assert document["mean"]["mistakes"] == pytest.approx(mistakes, rel=0.07)
    if labels is None:
        assert [one["labels"] for one in document["runs"]] == [11314] * 5
    else:
        assert document["mean"]["labels"] == pytest.approx(labels, rel=0.03)
        assert document["mean"]["labels"] < 11314


def test_coupled_learners_make_fewer_mistakes(figures):
    mistakes = {learner: document["mean"]["mistakes"] for learner, document in figures.items()}
    assert mistakes["amtl"] < mistakes["cmtl"] < mistakes["perceptron"]
    accuracy = {learner: document["mean"]["accuracy"] for learner, document in figures.items()}
    assert accuracy["perceptron"] < min(accuracy[learner] for learner in accuracy if learner != "perceptron")
