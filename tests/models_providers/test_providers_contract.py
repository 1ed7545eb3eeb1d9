"""The adapters keep the promises of the port, through their real SDKs."""

import pytest

from actors.ports.model import Model
from tests.contracts.model_contract import ModelContract
from tests.fake_provider.clients import fed_model
from tests.fake_provider.wire_forms import FORMS, Called, Form, Told, frames

TOLD = Told(
    thinking=("Two and ", "three."),
    text=("It is", " five."),
    calls=(Called("call-a", "add", ('{"a": 2', ', "b": 3}')), Called("call-b", "now")),
)


@pytest.mark.parametrize("form", FORMS)
class TestProviderModels(ModelContract):
    @pytest.fixture
    def model(self, form: Form) -> Model:
        return fed_model(form, frames(form, TOLD))


@pytest.mark.parametrize("form", FORMS)
class TestProviderModelsThatBreakOff(ModelContract):
    @pytest.fixture
    def model(self, form: Form) -> Model:
        return fed_model(form, frames(form, TOLD)[:5], broken=True)
